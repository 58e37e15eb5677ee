#include "moses/step.h"

#include <utility>

#include "text/parallel.h"

namespace nmt_prep::moses {
namespace {

// Large enough for negligible overhead per run, small enough that threads end together.
constexpr std::size_t kRunBytes = std::size_t{1} << 17;

// The lines of a run.
struct Part {
    std::string bytes;
    std::vector<std::int64_t> altered;
};

// Applies steps to a run, and writes to ends[i] the number of bytes after line i.
void apply_to_run(const std::vector<const Step*>& steps, const TextView& text, std::size_t first, std::size_t last,
                  Part& part, std::int64_t* ends) {
    std::string from, to;
    part.altered.resize(steps.size());
    part.bytes.reserve(static_cast<std::size_t>(text.offsets[last] - text.offsets[first]) * 5 / 4);
    for (std::size_t i = first; i < last; ++i) {
        std::string_view line(reinterpret_cast<const char*>(text.line(i)), text.size(i));
        for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
            to.clear();
            steps[step]->apply(line, to);
            part.altered[step] += to != line ? 1 : 0;
            from.swap(to);
            line = from;
        }
        const std::size_t start = part.bytes.size();
        if (steps.empty())
            part.bytes += line;
        else
            steps.back()->apply(line, part.bytes);
        if (!steps.empty()) part.altered.back() += std::string_view(part.bytes).substr(start) != line ? 1 : 0;
        ends[i] = static_cast<std::int64_t>(part.bytes.size());
    }
}

}  // namespace

SteppedText apply_steps(const std::vector<const Step*>& steps, const TextView& text, std::size_t threads,
                        const Poll& poll) {
    const std::vector<std::size_t> bounds = cut_lines(text, kRunBytes);
    std::vector<Part> parts(bounds.size() - 1);
    SteppedText result{{{}, std::vector<std::int64_t>(text.lines + 1)}, std::vector<std::int64_t>(steps.size())};
    std::vector<std::int64_t>& offsets = result.lines.offsets;
    parallel_for(parts.size(), threads, [&](std::size_t run, std::size_t thread) {
        if (thread == 0) poll();
        check_lines(text, bounds[run], bounds[run + 1]);
        apply_to_run(steps, text, bounds[run], bounds[run + 1], parts[run], offsets.data() + 1);
    });
    std::size_t size = 0;
    for (const Part& part : parts) size += part.bytes.size();
    result.lines.bytes.reserve(size);
    for (std::size_t run = 0; run < parts.size(); ++run) {
        const auto start = static_cast<std::int64_t>(result.lines.bytes.size());
        for (std::size_t i = bounds[run]; i < bounds[run + 1]; ++i) offsets[i + 1] += start;
        result.lines.bytes += parts[run].bytes;
        std::string().swap(parts[run].bytes);
        for (std::size_t step = 0; step < steps.size(); ++step) result.altered[step] += parts[run].altered[step];
    }
    return result;
}

}  // namespace nmt_prep::moses
