#include "modify/tags.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "align/words.h"
#include "modify/draws.h"
#include "modify/labels.h"
#include "text/properties.h"
#include "text/utf8.h"

namespace nmt_prep::modify {
namespace {

enum Mode : std::uint8_t { kAugment, kReplace, kTag };

constexpr std::string_view kMark = "\u2581";                         // instead of a space between ICU tokens
constexpr std::size_t kShortest = 2, kLongest = 10, kMostWords = 3;  // sizes and number of random words

struct Link {
    std::int32_t source, target;

    auto operator<=>(const Link&) const = default;
};

// The replacement of a word.
struct Edit {
    std::int32_t word;
    std::vector<Part> parts;
};

// A side of a pair, and its changes.
struct Side {
    std::string_view text;
    std::vector<align::Place> words;
    std::vector<Edit> edits;

    void read(std::string_view line, bool spaces) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(line.data());
        text = line;
        align::find_words(bytes, bytes + line.size(), spaces, words);
        edits.clear();
    }
    std::string_view word(std::int32_t number) const {
        const align::Place& place = words[static_cast<std::size_t>(number)];
        return text.substr(place.begin, place.end - place.begin);
    }
    std::string_view after(std::int32_t number) const {
        return text.substr(words[static_cast<std::size_t>(number)].end);
    }

    // Sets `parts` to the parts of the new line.
    void write(std::vector<Part>& parts) {
        parts.clear();
        std::ranges::sort(edits, {}, &Edit::word);
        std::size_t done = 0;
        for (const Edit& edit : edits) {
            const align::Place& place = words[static_cast<std::size_t>(edit.word)];
            parts.push_back({text.substr(done, place.begin - done), kOwnWords});
            parts.insert(parts.end(), edit.parts.begin(), edit.parts.end());
            done = place.end;
        }
        parts.push_back({text.substr(done), kOwnWords});
    }
};

class Tagger {
   public:
    explicit Tagger(const TagOptions& options) : options_(options), left_(options.spaces), right_(options.spaces) {}

    // Appends a pair, changed or not.
    void tag(std::string_view source, std::string_view target, std::string_view links, std::uint64_t key,
             TaggedLines& made);

   private:
    bool may_change(std::string_view links, std::uint64_t key);
    void find_candidates();
    Mode drawn_mode(Draws& draws) const;
    void change(const Link& link, Draws& draws);
    void add_random_words(Draws& draws);
    void replace(const Link& link);
    void augment(const Link& link);
    std::vector<Part> filled(std::int32_t word, std::span<const Part> hint) const;
    void link(std::int32_t source, std::int32_t target) { links_.insert(links_.end(), {source, target}); }

    const TagOptions& options_;
    Assembler left_, right_;
    Side source_, target_;
    std::vector<std::int32_t> links_;  // links of labels, two numbers each
    std::vector<int> source_links_, target_links_;
    std::vector<Link> candidates_;
    std::int32_t next_label_ = 0;
    std::deque<std::string> texts_;  // random words
    std::vector<Part> random_;       // words, with their labels
    std::vector<Part> parts_;
    std::vector<std::int32_t> followed_;
};

// Reads the links, and draws a number for each; returns true if a draw is below the probability.
bool Tagger::may_change(std::string_view links, std::uint64_t key) {
    constexpr std::int64_t kAny = std::numeric_limits<std::int32_t>::max();
    links_.clear();
    if (!align::parse_links(links, kAny, kAny, links_)) return false;
    Draws draws(key, 0);
    for (std::size_t i = 0; i < links_.size(); i += 2)
        if (draws.random() < options_.probability) return true;
    return false;
}

// Finds the links of words that have one link each and differ, from left to right; none if a link is wrong.
void Tagger::find_candidates() {
    candidates_.clear();
    source_links_.assign(source_.words.size(), 0);
    target_links_.assign(target_.words.size(), 0);
    for (std::size_t i = 0; i < links_.size(); i += 2) {
        const auto s = static_cast<std::size_t>(links_[i]), t = static_cast<std::size_t>(links_[i + 1]);
        if (s >= source_links_.size() || t >= target_links_.size()) return;
        ++source_links_[s];
        ++target_links_[t];
    }
    for (std::size_t i = 0; i < links_.size(); i += 2) {
        const Link link{links_[i], links_[i + 1]};
        const bool single = source_links_[static_cast<std::size_t>(link.source)] == 1 &&
                            target_links_[static_cast<std::size_t>(link.target)] == 1;
        if (single && source_.word(link.source) != target_.word(link.target)) candidates_.push_back(link);
    }
    std::ranges::sort(candidates_);
}

Mode Tagger::drawn_mode(Draws& draws) const {
    const auto in_use = [](double share) { return share > 0; };
    const auto& shares = options_.shares;
    if (std::ranges::count_if(shares, in_use) == 1)
        return static_cast<Mode>(std::ranges::find_if(shares, in_use) - shares.begin());
    const double drawn = draws.random();
    double sum = 0;
    Mode last = kTag;
    for (const Mode mode : {kAugment, kReplace, kTag}) {
        if (shares[mode] <= 0) continue;
        last = mode;
        sum += shares[mode];
        if (drawn < sum) break;
    }
    return last;
}

// Draws random words of equal length, with characters from one range.
void Tagger::add_random_words(Draws& draws) {
    random_.clear();
    const std::size_t length = kShortest + draws.below(kLongest - kShortest + 1);
    const auto [first, end] = options_.ranges[draws.below(options_.ranges.size())];
    const std::size_t words = 1 + draws.below(kMostWords);
    for (std::size_t word = 0; word < words; ++word) {
        std::string& text = texts_.emplace_back();
        for (std::size_t i = 0; i < length; ++i)
            append_utf8(text, first + static_cast<char32_t>(draws.below(end - first)));
        random_.push_back({text, next_label_++});
    }
}

// The form in place of a source word.
std::vector<Part> Tagger::filled(std::int32_t word, std::span<const Part> hint) const {
    const Part own{source_.word(word), kOwnWords};
    std::vector<Part> parts{{options_.form[0], kNoLabel}};
    if (options_.source_first) parts.insert(parts.end(), {own, {options_.form[1], kNoLabel}});
    parts.insert(parts.end(), hint.begin(), hint.end());
    if (!options_.source_first) parts.insert(parts.end(), {{options_.form[1], kNoLabel}, own});
    parts.push_back({options_.form[2], kNoLabel});
    return parts;
}

// Puts random words in place of the target word, and the form with them in place of the source word.
void Tagger::replace(const Link& link) {
    std::vector<Part> words;
    for (const Part& word : random_) {
        if (!words.empty()) words.push_back({" ", kNoLabel});
        words.push_back(word);
        this->link(link.source, word.label);
        this->link(word.label, word.label);
    }
    source_.edits.push_back({link.source, filled(link.source, words)});
    target_.edits.push_back({link.target, std::move(words)});
}

// Inserts random words after the words of a link.
void Tagger::augment(const Link& link) {
    for (const Part& word : random_) this->link(word.label, word.label);
    for (const bool left : {true, false}) {
        Side& side = left ? source_ : target_;
        const bool icu = options_.is_icu[left ? 0 : 1];
        const std::int32_t number = left ? link.source : link.target;
        std::vector<Part> parts{{side.word(number), kOwnWords}};
        for (const Part& word : random_) parts.insert(parts.end(), {{icu ? " \u2581 " : " ", kNoLabel}, word});
        const std::string_view rest = side.after(number);
        if (!rest.empty()) {
            const auto* at = reinterpret_cast<const std::uint8_t*>(rest.data());
            const bool space = Properties::of(next_utf8(at)).space();
            const bool marked = rest.front() == ' ' && rest.substr(1).starts_with(kMark);
            if (icu && !marked) parts.push_back({" \u2581", kNoLabel});
            if (!icu && !space) parts.push_back({" ", kNoLabel});
        }
        side.edits.push_back({number, std::move(parts)});
    }
}

// Changes the words of a link by a drawn mode.
void Tagger::change(const Link& link, Draws& draws) {
    const Mode mode = drawn_mode(draws);
    if (mode == kTag) {  // the hint is linked with the target word
        const Part hint{target_.word(link.target), next_label_++};
        source_.edits.push_back({link.source, filled(link.source, {&hint, 1})});
        this->link(hint.label, link.target);
        return;
    }
    add_random_words(draws);
    if (mode == kReplace)
        replace(link);
    else
        augment(link);
}

void Tagger::tag(std::string_view source, std::string_view target, std::string_view links, std::uint64_t key,
                 TaggedLines& made) {
    source_.edits.clear();
    if (may_change(links, key)) {
        source_.read(source, options_.spaces);
        target_.read(target, options_.spaces);
        find_candidates();
        next_label_ = kFirstNewWord;
        texts_.clear();
        Draws draws(key, 0);
        for (const Link& link : candidates_)
            if (draws.random() < options_.probability) change(link, draws);
    }
    if (source_.edits.empty()) {
        made.source.append(source);
        made.target.append(target);
        made.links.append(links);
        return;
    }
    source_.write(parts_);
    made.source.append(left_.assemble(source, parts_));
    target_.write(parts_);
    made.target.append(right_.assemble(target, parts_));
    followed_.clear();
    follow_links(links_, left_.words(), right_.words(), followed_);
    const std::array<std::int64_t, 2> offsets{0, static_cast<std::int64_t>(followed_.size() / 2)};
    const align::OwnedText text = align::link_lines({followed_.data(), offsets.data(), 1}, "", 1);
    made.links.append({reinterpret_cast<const char*>(text.data.data()), text.data.size()});
}

}  // namespace

TaggedLines tag_lines(const LinkedLines& lines, std::span<const std::uint64_t> keys, const TagOptions& options) {
    const std::size_t size = lines.source.lines;
    const bool fits = lines.target.lines == size && lines.links.lines == size && keys.size() == size;
    if (!fits || options.ranges.empty())
        throw std::invalid_argument("there must be a target, links and a key for each source, and ranges");
    TaggedLines made;
    Tagger tagger(options);
    for (std::size_t i = 0; i < size; ++i)
        tagger.tag(checked_line(lines.source, i), checked_line(lines.target, i), checked_line(lines.links, i), keys[i],
                   made);
    return made;
}

}  // namespace nmt_prep::modify
