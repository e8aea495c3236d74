"""Returns memory that arrays no longer take to the operating system."""


def release_free_memory() -> None:
    """Return the free memory that the C library keeps to the operating system.

    glibc keeps the memory of freed arrays below 32 MB for later arrays. After a large file was
    read, this is several times the memory in use. Without glibc, nothing happens.
    """
    import ctypes  # which few need

    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc; not Linux
        return
    trim(0)
