// Splits lines into pretokens and added tokens, as the settings of a vocabulary require.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "byte_bpe/names.h"
#include "pattern/scanner.h"
#include "text/nfc.h"

namespace nmt_prep::byte_bpe {

// The steps, in the order of the members.
struct SplitSteps {
    NameFinder::Names before = {};  // added tokens to find in the unchanged text
    bool nfc = false;               // bring the text between them into normal form C
    NameFinder::Names after = {};   // added tokens to find after this
    bool prefix_space = false;      // add a space before a part that does not begin with one
    // Patterns; each splits the parts of the previous one. Without patterns, a part is one pretoken.
    std::vector<std::shared_ptr<const pattern::Scanner>> scanners = {};
};

class Splitter {
   public:
    explicit Splitter(const SplitSteps& steps)
        : before_(steps.before), after_(steps.after), nfc_(steps.nfc), prefix_space_(steps.prefix_space) {
        for (const auto& scanner : steps.scanners) scanners_.push_back(*scanner);
    }

    // Memory for changed text, for one thread at a time.
    struct Scratch {
        std::string normal, prefixed;
    };

    // A part between added tokens.
    struct Part {
        const std::uint8_t* text;
        std::size_t size;
        std::size_t readable;  // readable bytes from `text`, at least `size`
    };

    // Calls on_part(part) and on_name(id) for the parts and added tokens of a line after the steps before the patterns,
    // in order. Parts are not empty, and valid during the call.
    template <class OnPart, class OnName>
    void for_each_part(const Part& line, Scratch& scratch, OnPart&& on_part, OnName&& on_name) const {
        if (before_.empty()) return after_names(line, scratch, on_part, on_name);
        before_.cut(
            line.text, line.size,
            [&](const std::uint8_t* text, std::size_t size) {
                after_names(rest_of(line, text, size), scratch, on_part, on_name);
            },
            on_name);
    }

    // Calls visit(pretoken, size) for every pretoken of a part, in order.
    template <class Visit>
    void for_each_pretoken(const std::uint8_t* text, std::size_t size, Visit&& visit) const {
        if (scanners_.size() == 1)
            scanners_[0].for_each_part(text, size, visit);
        else
            scan(text, size, 0, visit);
    }

   private:
    static Part rest_of(const Part& part, const std::uint8_t* text, std::size_t size) {
        return {text, size, part.readable - static_cast<std::size_t>(text - part.text)};
    }
    static Part part_of(const std::string& text) {
        return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), text.size()};
    }

    template <class OnPart, class OnName>
    void after_names(Part part, Scratch& scratch, OnPart& on_part, OnName& on_name) const {
        if (nfc_ && may_change_in_nfc(part.text, part.size)) {
            scratch.normal.clear();
            append_nfc({reinterpret_cast<const char*>(part.text), part.size}, scratch.normal);
            part = part_of(scratch.normal);
        }
        const auto on_text = [&](const std::uint8_t* text, std::size_t size) {
            if (!prefix_space_ || *text == ' ') return on_part(rest_of(part, text, size));
            scratch.prefixed.assign(1, ' ').append(reinterpret_cast<const char*>(text), size);
            on_part(part_of(scratch.prefixed));
        };
        if (!after_.empty())
            after_.cut(part.text, part.size, on_text, on_name);
        else if (part.size > 0)
            on_text(part.text, part.size);
    }

    template <class Visit>
    void scan(const std::uint8_t* text, std::size_t size, std::size_t step, Visit& visit) const {
        if (step == scanners_.size()) {
            visit(text, size);
            return;
        }
        scanners_[step].for_each_part(
            text, size, [&](const std::uint8_t* part, std::size_t bytes) { scan(part, bytes, step + 1, visit); });
    }

    NameFinder before_, after_;
    bool nfc_, prefix_space_;
    std::vector<pattern::Scanner> scanners_;
};

}  // namespace nmt_prep::byte_bpe
