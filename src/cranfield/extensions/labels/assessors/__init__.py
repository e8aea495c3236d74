"""Assessors: how far two or more agree, and whether systems are ordered alike under each.

Not here: labels of people that correct a model's (human).
"""
