"""Memory that is free, given back to the system."""


def release_free_memory() -> None:
    """Give back to the system what the C library keeps of the memory that is free.

    glibc keeps the place of arrays below 32 MB for later ones. After much was read or computed this
    is several times what is still held. Where the C library has no such function, nothing happens.
    """
    import ctypes  # which few need

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc; not Linux
        return
    trim(0)
