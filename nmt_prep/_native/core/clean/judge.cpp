#include "clean/judge.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace nmt_prep::clean {
namespace {

bool unbounded(const Bounds& bounds) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return bounds.low == -kInfinity && bounds.high == kInfinity && !bounds.above && !bounds.below;
}

// The bins of whole numbers below this are looked up in a table.
constexpr std::size_t kTabled = 256;

}  // namespace

void judge(const double* values, std::size_t pairs, std::span<const Bounds> columns, std::uint8_t* pass) {
    std::fill_n(pass, pairs, std::uint8_t{1});
    for (const Bounds& bounds : columns) {
        const double* const column = values;
        values += pairs;
        if (unbounded(bounds)) continue;
        // A strict bound is replaced by an inclusive bound at the next number. Comparisons with NaN are false.
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const double low = bounds.above ? std::nextafter(bounds.low, kInfinity) : bounds.low;
        const double high = bounds.below ? std::nextafter(bounds.high, -kInfinity) : bounds.high;
        const bool nothing = (bounds.above && bounds.low == kInfinity) || (bounds.below && bounds.high == -kInfinity);
        for (std::size_t i = 0; i < pairs; ++i)
            pass[i] &= static_cast<std::uint8_t>((column[i] >= low) & (column[i] <= high) & !nothing);
    }
}

void histogram(const double* values, std::size_t size, std::span<const double> edges, const std::uint8_t* kept,
               std::int64_t* counts) {
    const std::size_t bins = edges.size() - 1;
    std::vector<double> inner(std::bit_ceil(bins) - 1, std::numeric_limits<double>::infinity());  // bounds between bins
    std::copy(edges.begin() + 1, edges.end() - 1, inner.begin());
    const auto bin_of = [&](double value) {  // binary search without branches, which could not be predicted
        std::size_t bin = 0;
        for (std::size_t step = (inner.size() + 1) / 2; step > 0; step /= 2)
            bin += inner[bin + step - 1] <= value ? step : 0;
        return std::min(bin, bins - 1);
    };
    std::vector<std::size_t> tabled(kTabled);
    for (std::size_t i = 0; i < kTabled; ++i) tabled[i] = bin_of(static_cast<double>(i));
    for (std::size_t i = 0; i < size; ++i) {
        const double value = values[i];
        if (std::isnan(value)) continue;
        const bool small = value >= 0 && value < static_cast<double>(kTabled);
        const auto whole = small ? static_cast<std::size_t>(value) : 0;
        const std::size_t bin = small && static_cast<double>(whole) == value ? tabled[whole] : bin_of(value);
        ++counts[(kept[i] != 0 ? bins : 0) + bin];
    }
}

}  // namespace nmt_prep::clean
