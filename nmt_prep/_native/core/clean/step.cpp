#include "clean/step.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "clean/byte_scan.h"
#include "text/parallel.h"

namespace nmt_prep::clean {
namespace {

// Large enough for negligible overhead per run, small enough that threads end together.
constexpr std::size_t kRunBytes = std::size_t{1} << 17;

// The lines of a run; if none was altered, `ends` is empty, and `bytes` has nothing.
struct Part {
    std::string bytes;
    std::vector<std::int64_t> ends;  // number of bytes after each line
    std::vector<std::int64_t> altered;
    std::vector<std::int64_t> first;
};

// Steps with what finds the lines that they may alter.
class Chain {
   public:
    explicit Chain(const std::vector<const Step*>& steps) {
        ByteSet all;
        for (const Step* const step : steps) {
            const auto* const fix = dynamic_cast<const Fix*>(step);
            links_.push_back({step, fix, {}});
            all_fixes_ &= fix != nullptr;
            if (fix == nullptr) continue;
            const ByteSet triggers = fix->triggers();
            for (std::size_t byte = 0; byte < 256; ++byte)
                if (triggers[byte]) fixes_of_byte_[byte].push_back(fix);
            all |= triggers;
            checks_spaces_ |= fix->checks_spaces();
            links_.back().scan = ByteScan(triggers, fix->checks_spaces());
        }
        scan_ = ByteScan(all, checks_spaces_);
    }

    Part apply(const TextView& text, std::size_t first, std::size_t last) const {
        Part part;
        part.altered.resize(links_.size());
        part.first.assign(links_.size() * kNamedLines, -1);
        const std::vector<std::uint8_t> suspect = suspect_lines(text, first, last);
        std::string changed, scratch;
        std::size_t copied = first;  // lines before this one are in `bytes`
        const auto copy = [&](std::size_t end) {
            const auto shift = static_cast<std::int64_t>(part.bytes.size()) - text.offsets[copied];
            part.bytes.append(text.line(copied), text.line(end));
            while (copied < end) part.ends.push_back(text.offsets[++copied] + shift);
        };
        for (std::size_t i = first; i < last; ++i) {
            if (suspect[i - first] == 0 || !apply_to_line(text, i, changed, scratch, part)) continue;
            if (part.ends.empty()) {
                part.bytes.reserve(static_cast<std::size_t>(text.line(last) - text.line(first)) * 5 / 4);
                part.ends.reserve(last - first);
            }
            copy(i);
            part.bytes += changed;
            part.ends.push_back(static_cast<std::int64_t>(part.bytes.size()));
            copied = i + 1;
        }
        if (!part.ends.empty()) copy(last);
        return part;
    }

   private:
    struct Link {
        const Step* step;
        const Fix* fix;  // the step, if it is a fix
        ByteScan scan;   // finds its triggers
    };

    bool suspects(const Place& place) const {
        for (const Fix* const fix : fixes_of_byte_[*place.at])
            if (fix->suspects(place)) return true;
        return checks_spaces_ && place[0] == ' ' && place[1] == ' ';
    }

    // Returns 1 for each line of a run that some step may alter.
    std::vector<std::uint8_t> suspect_lines(const TextView& text, std::size_t first, std::size_t last) const {
        std::vector<std::uint8_t> suspect(last - first, all_fixes_ ? 0 : 1);
        if (!all_fixes_) return suspect;
        const std::uint8_t* const begin = text.line(first);
        const std::uint8_t* const end = text.line(last);
        const auto size = static_cast<std::size_t>(end - begin);
        std::size_t line = first;
        for (std::size_t at = 0, next; at < size; at = next) {
            next = at + 64;
            for (std::uint64_t hits = scan_.hits(begin + at, size - at); hits != 0;) {
                const std::uint8_t* const hit = begin + at + std::countr_zero(hits);
                hits &= hits - 1;
                while (text.line(line + 1) <= hit) ++line;
                if (!suspects({begin, hit, end})) continue;
                suspect[line - first] = 1;
                const auto past = static_cast<std::size_t>(text.line(line + 1) - begin) - at;  // the rest of the line
                hits = past < 64 ? hits & ~std::uint64_t{0} << past : 0;
                next = at + std::max<std::size_t>(past, 64);
            }
        }
        for (std::size_t i = first; checks_spaces_ && i < last; ++i)
            if (text.size(i) != 0 && (text.line(i)[0] == ' ' || text.line(i + 1)[-1] == ' ')) suspect[i - first] = 1;
        return suspect;
    }

    // Returns false if the step certainly leaves the line unchanged.
    static bool may_alter(const Link& link, std::string_view line) {
        if (link.fix == nullptr) return true;
        if (link.fix->checks_spaces() && (line.starts_with(' ') || line.ends_with(' '))) return true;
        const auto* const begin = reinterpret_cast<const std::uint8_t*>(line.data());
        for (std::size_t at = 0; at < line.size(); at += 64)
            for (std::uint64_t hits = link.scan.hits(begin + at, line.size() - at); hits != 0; hits &= hits - 1) {
                const std::uint8_t* const hit = begin + at + std::countr_zero(hits);
                // Only the first of two spaces is a hit: no fix has a space as trigger.
                if (*hit == ' ' || link.fix->suspects({begin, hit, begin + line.size()})) return true;
            }
        return false;
    }

    // Writes the changed line to `changed`; returns whether it differs from the line.
    bool apply_to_line(const TextView& text, std::size_t i, std::string& changed, std::string& scratch,
                       Part& part) const {
        const std::string_view line(reinterpret_cast<const char*>(text.line(i)), text.size(i));
        std::string_view now = line;
        for (std::size_t step = 0; step < links_.size(); ++step) {
            if (!may_alter(links_[step], now)) continue;
            scratch.clear();
            links_[step].step->apply(now, scratch);
            if (scratch == now) continue;
            const auto count = static_cast<std::size_t>(part.altered[step]++);
            if (count < kNamedLines) part.first[step * kNamedLines + count] = static_cast<std::int64_t>(i);
            changed.swap(scratch);
            now = changed;
        }
        return now != line;
    }

    std::vector<Link> links_;
    bool all_fixes_ = true;
    bool checks_spaces_ = false;
    std::array<std::vector<const Fix*>, 256> fixes_of_byte_;
    ByteScan scan_;  // finds the triggers of all fixes
};

void add_counts(const Part& part, SteppedText& result) {
    for (std::size_t step = 0; step < part.altered.size(); ++step) {
        for (std::size_t n = 0; n < kNamedLines; ++n) {
            const auto at = static_cast<std::size_t>(result.altered[step]) + n;
            if (at < kNamedLines) result.first[step * kNamedLines + at] = part.first[step * kNamedLines + n];
        }
        result.altered[step] += part.altered[step];
    }
}

}  // namespace

SteppedText apply_steps(const std::vector<const Step*>& steps, const TextView& text, std::size_t threads,
                        const Poll& poll) {
    const Chain chain(steps);
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    std::vector<Part> parts(bounds.size() - 1);
    parallel_for(parts.size(), threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        check_lines(text, bounds[run], bounds[run + 1]);
        parts[run] = chain.apply(text, bounds[run], bounds[run + 1]);
    });
    SteppedText result{{}, std::vector<std::int64_t>(steps.size()), {}};
    result.first.assign(steps.size() * kNamedLines, -1);
    std::size_t size = 0;
    bool altered = false;
    for (std::size_t run = 0; run < parts.size(); ++run) {
        add_counts(parts[run], result);
        altered |= !parts[run].ends.empty();
        size += parts[run].ends.empty()
                    ? static_cast<std::size_t>(text.offsets[bounds[run + 1]] - text.offsets[bounds[run]])
                    : parts[run].bytes.size();
    }
    if (!altered) return result;
    auto& [bytes, offsets] = result.lines;
    bytes.reserve(size);
    offsets.reserve(text.lines + 1);
    offsets.push_back(0);
    for (std::size_t run = 0; run < parts.size(); ++run) {
        const auto start = static_cast<std::int64_t>(bytes.size());
        if (parts[run].ends.empty()) {
            bytes.append(text.line(bounds[run]), text.line(bounds[run + 1]));
            for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i)
                offsets.push_back(text.offsets[i + 1] - text.offsets[bounds[run]] + start);
        } else {
            bytes += parts[run].bytes;
            for (const std::int64_t end : parts[run].ends) offsets.push_back(start + end);
            std::string().swap(parts[run].bytes);
        }
    }
    return result;
}

}  // namespace nmt_prep::clean
