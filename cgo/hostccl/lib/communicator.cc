#include "communicator.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "handles.h"
#include "threads.h"

namespace hostccl {

namespace {

// How long a vague failure waits for the root to say which rank was lost.
constexpr auto kExplanationTime = Milliseconds(200);
constexpr auto kCloseTime = Milliseconds(900);
constexpr auto kInitMargin = std::chrono::seconds(2);

}  // namespace

std::shared_ptr<Communicator> Communicator::start(const ncclUniqueId& id, const Place& place) {
  if (place.ranks < 1 || place.ranks > kMaxRanks || place.rank < 0 || place.rank >= place.ranks) {
    throw Failure(ncclInvalidArgument, "rank " + std::to_string(place.rank) + " of " +
                                           std::to_string(place.ranks) + " ranks is not possible");
  }
  std::shared_ptr<Communicator> self(
      new Communicator(unpackId(id), place, configuredTimeout()));
  if (self->wake_.get() < 0) throw systemFailure("eventfd");
  self->threads_ = 1;
  startThread("hostccl-init", [self] { self->initialize(); });
  return self;
}

Communicator::Communicator(const IdContents& root, const Place& place, Milliseconds timeout)
    : root_(root),
      ranks_(place.ranks),
      rank_(place.rank),
      blocking_(place.blocking),
      timeout_(timeout),
      deadline_(Clock::now() + timeout),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      sent_(static_cast<size_t>(place.ranks)),
      received_(static_cast<size_t>(place.ranks)) {}

ncclResult_t Communicator::status() {
  const std::lock_guard<std::mutex> lock(mutex_);
  switch (state_) {
    case State::kInitializing:
      return ncclInProgress;
    case State::kReady:
      return finalizing_ && queued_ > 0 ? ncclInProgress : ncclSuccess;
    case State::kFailed:
      return code_;
    case State::kClosed:
      break;
  }
  return ncclInvalidArgument;
}

std::string Communicator::detail() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return detail_;
}

ncclResult_t Communicator::waitInitialised() {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool ended = changed_.wait_until(lock, deadline_ + kInitMargin,
                                         [this] { return state_ != State::kInitializing; });
  lock.unlock();
  if (!ended) fail(Failure(ncclInternalError, "init did not end in time"), false);
  return status();
}

void Communicator::enqueue(Stream& stream, const Collective& collective) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requireReady();
  enqueueLocked(stream, [collective, tag = nextTag_++](const Transport* transport) {
    perform(transport, collective, tag);
  });
}

void Communicator::enqueue(Stream& stream, std::vector<Transfer> group) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requireReady();
  for (Transfer& one : group) {
    auto& counts = one.receives ? received_ : sent_;
    one.number = counts[static_cast<size_t>(one.peer)]++;
  }
  enqueueLocked(stream, [group = std::move(group), rank = rank_](const Transport* transport) {
    exchange(transport, rank, group);
  });
}

void Communicator::requireReady() {
  if (state_ == State::kFailed) throw Failure(code_, detail_);
  if (state_ == State::kReady && !finalizing_) return;
  throw Failure(ncclInvalidArgument, finalizing_ ? "the communicator is finalized"
                                                 : "the communicator is not initialised yet: poll "
                                                   "ncclCommGetAsyncError until it is no longer in "
                                                   "progress");
}

// Under the lock, so that tags and numbers enter a stream in order.
void Communicator::enqueueLocked(Stream& stream, Operation operation) {
  stream.enqueue([self = shared_from_this(), operation = std::move(operation)] {
    self->execute(operation);
  });
  queued_++;
}

void Communicator::execute(const Operation& operation) {
  std::shared_ptr<Transport> transport;
  bool ready = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ready = state_ == State::kReady;
    if (ready) {
      running_++;
      transport = transport_;
    }
  }
  if (ready) {
    compute(transport.get(), operation);
    transport.reset();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ready) running_--;
  queued_--;
  changed_.notify_all();
}

void Communicator::compute(const Transport* transport, const Operation& operation) {
  try {
    operation(transport);
  } catch (const Failure& failure) {
    awaitExplanation();
    fail(failure, false);
  } catch (const std::exception& error) {
    awaitExplanation();
    fail(Failure(ncclInternalError, error.what()), false);
  }
}

void Communicator::awaitExplanation() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, kExplanationTime, [this] { return state_ != State::kReady; });
}

void Communicator::finalize() {
  const std::lock_guard<std::mutex> lock(mutex_);
  finalizing_ = true;
}

void Communicator::finish() {
  std::unique_lock<std::mutex> lock(mutex_);
  // Finite because every operation has a time-out.
  changed_.wait(lock, [this] { return queued_ == 0 || state_ != State::kReady; });
}

void Communicator::close(bool aborts) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (state_ == State::kClosed) return;
  if (aborts || state_ == State::kInitializing) reason_ = "aborted the communicator";
  const bool interrupts = state_ != State::kReady || aborts;
  state_ = State::kClosed;
  changed_.notify_all();
  wake();
  auto transport = transport_;
  lock.unlock();
  if (interrupts && transport != nullptr) transport->interrupt();
  transport.reset();
  lock.lock();
  const bool ended = changed_.wait_for(lock, kCloseTime,
                                       [this] { return running_ == 0 && threads_ == 0; });
  // Closes the connections here, outside the lock.
  const auto last = std::move(transport_);
  lock.unlock();
  if (!ended) throw Failure(ncclInternalError, "an operation did not end within a second");
}

void Communicator::setReady() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_ == State::kInitializing) state_ = State::kReady;
  changed_.notify_all();
}

void Communicator::fail(const Failure& failure, bool namesRank) {
  std::shared_ptr<Transport> transport;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool better = state_ == State::kFailed && namesRank && !namesRank_;
    if (state_ == State::kClosed || (state_ == State::kFailed && !better)) return;
    state_ = State::kFailed;
    code_ = failure.code;
    detail_ = failure.what();
    namesRank_ = namesRank;
    transport = transport_;
    changed_.notify_all();
  }
  if (transport != nullptr) transport->interrupt();
}

void Communicator::wake() {
  const uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof(one)) < 0) {
    // The counter is full, so the descriptor is readable already.
    return;
  }
}

std::shared_ptr<Communicator> communicatorOf(const void* handle) {
  auto communicator = Handles<Communicator>::process().find(handle);
  if (communicator == nullptr) throw Failure(ncclInvalidArgument, "no such communicator");
  return communicator;
}

}  // namespace hostccl
