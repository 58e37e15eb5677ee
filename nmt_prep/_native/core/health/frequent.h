// The frequent items of a stream, in memory that does not depend on its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/hash_table.h"

namespace nmt_prep::health {

struct HashCount {
    std::uint64_t hash;
    std::int64_t count;
};

// Counters of Misra and Gries ("Finding repeated elements", 1982). Once there are 2k different hashes, the k-th largest
// count is subtracted from all counts, and hashes without a positive count are forgotten (Anderson et al., "A
// high-performance algorithm for identifying frequent items in data streams", 2017). So after n hashes a count is at
// most n / k too low, and never too high.
class FrequentHashes {
   public:
    // Keeps at least `kept` hashes; requires kept > 0.
    explicit FrequentHashes(std::size_t kept);

    void add(std::uint64_t hash);

    // Hashes that may occur more often than `least` times, ordered by hash, with counts that may be up to error() too
    // low. If `least` is error() or more, no hash that occurs more often is missing.
    std::vector<HashCount> above(std::int64_t least) const;
    std::int64_t error() const { return error_; }

   private:
    void purge();

    std::size_t kept_;
    std::int64_t error_ = 0;
    HashTable<std::int64_t> counts_;
};

}  // namespace nmt_prep::health
