"""The same evaluation on engines that divide data among many machines."""
