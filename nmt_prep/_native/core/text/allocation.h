// How the C library allocates memory for the process.
#pragma once

namespace nmt_prep {

// Makes the C library keep freed memory for reuse, because page faults on new memory take a large part of a run's
// system time. With glibc, allocations of less than 32 MiB come from at most `arenas` heaps, which keep up to 64 MiB
// each; by default glibc reaches these sizes only after large blocks have been freed, and has up to eight heaps per
// core. Returns false if the C library has no such settings. Only for a process that belongs to the program alone,
// before it starts threads.
bool keep_freed_memory(int arenas) noexcept;

}  // namespace nmt_prep
