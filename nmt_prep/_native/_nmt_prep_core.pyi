"""Types of the native core. One block for each bindings file, in the order of module.cpp."""
