// Objects for one call at a time. Calls release the GIL, so that another thread may call the same object meanwhile.
#pragma once

#include <atomic>
#include <concepts>
#include <stdexcept>
#include <utility>

namespace nmt_prep {

// An object that only one call at a time can reach.
template <class T>
class OneAtATime {
   public:
    template <class... Args>
        requires std::constructible_from<T, Args...>
    explicit OneAtATime(Args&&... args) : value_(std::forward<Args>(args)...) {}
    OneAtATime(const OneAtATime&) = delete;
    OneAtATime& operator=(const OneAtATime&) = delete;

    // The object, locked until this is destroyed.
    class Use {
       public:
        explicit Use(OneAtATime& of) : of_(of) {
            if (of_.in_use_.test_and_set(std::memory_order_acquire))
                throw std::runtime_error("another call is using this object; use it in one thread at a time");
        }
        ~Use() { of_.in_use_.clear(std::memory_order_release); }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

        T& operator*() const { return of_.value_; }
        T* operator->() const { return &of_.value_; }

       private:
        OneAtATime& of_;
    };

    // Throws std::runtime_error if the object is in use.
    Use use() { return Use(*this); }

   private:
    T value_;
    std::atomic_flag in_use_;
};

// Returns the function that calls a method of such an object.
template <class T, class Result, class... Args>
auto one_call(Result (T::*method)(Args...)) {
    return [method](OneAtATime<T>& held, Args... args) { return ((*held.use()).*method)(std::forward<Args>(args)...); };
}
template <class T, class Result, class... Args>
auto one_call(Result (T::*method)(Args...) const) {
    return [method](OneAtATime<T>& held, Args... args) { return ((*held.use()).*method)(std::forward<Args>(args)...); };
}

}  // namespace nmt_prep
