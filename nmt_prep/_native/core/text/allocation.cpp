#include "text/allocation.h"

#if defined(__linux__)
#include <malloc.h>
#endif

namespace nmt_prep {

bool keep_freed_memory([[maybe_unused]] int arenas) noexcept {
#if defined(__GLIBC__)
    constexpr int kFromHeap = 32 << 20;  // the largest that glibc allows
    constexpr int kKept = 2 * kFromHeap;
    return mallopt(M_MMAP_THRESHOLD, kFromHeap) != 0 && mallopt(M_TRIM_THRESHOLD, kKept) != 0 &&
           mallopt(M_ARENA_MAX, arenas) != 0;
#else
    return false;
#endif
}

}  // namespace nmt_prep
