// The two threads of a communicator: one initialises it, one watches it.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "communicator.h"
#include "interface.h"
#include "root.h"
#include "root_link.h"
#include "threads.h"

namespace hostccl {

namespace {

// How long a rank waits for a root in its own process to pass on its good-bye: the process may end next.
constexpr auto kGoodbyeTime = Milliseconds(500);

}  // namespace

void Communicator::initialize() {
  std::unique_ptr<Channel> channel;
  try {
    join(channel);
  } catch (const Failure& failure) {
    fail(failure, false);
  } catch (const std::exception& error) {
    fail(Failure(ncclInternalError, error.what()), false);
  }
  const Word last = word();
  if (channel != nullptr) {
    channel->send(kBye, last.closing ? last.reason : "failed: " + detail().substr(0, kMaxReason / 2));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  threads_--;
  changed_.notify_all();
}

// Hands the channel over to the watching thread; it is still there when something failed before.
void Communicator::join(std::unique_ptr<Channel>& channel) {
  openTransport();
  channel = std::make_unique<Channel>(connectToRoot(root_.address, deadline_, wake_.get()));
  channel->send(kHello, greeting());
  const auto frame = awaitFrame(*channel, kTable, deadline_, wake_.get());
  const auto table = parsePayload<Table, Endpoint>(frame.payload);
  if (table.items.size() != static_cast<size_t>(ranks_)) {
    throw Failure(ncclSystemError, "the root's table has another number of ranks");
  }
  std::shared_ptr<Transport> transport;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    transport = transport_;
    threads_++;
  }
  const std::shared_ptr<Channel> shared(std::move(channel));
  startThread("hostccl-watch", [self = shared_from_this(), shared, root = table.fixed.rootRank] {
    self->watch(*shared, root);
  });
  if (transport != nullptr) transport->connect(table.items);
  transport.reset();
  const std::lock_guard<std::mutex> lock(mutex_);
  connected_ = true;
  wake();
}

// One rank needs no connection, and Gloo has none to oneself.
void Communicator::openTransport() {
  if (ranks_ == 1) return;
  auto transport =
      std::make_shared<Transport>(rank_, ranks_, chooseInterface().address, timeout_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_ != State::kInitializing) throw Failure(ncclInternalError, "interrupted");
  transport_ = std::move(transport);
}

std::string Communicator::greeting() {
  Hello hello{};
  hello.key = root_.key;
  hello.protocol = kProtocol;
  hello.ranks = ranks_;
  hello.rank = rank_;
  hello.pid = getpid();
  hello.besideRoot = Root::isLocal(root_.key) ? 1 : 0;
  hello.endpoint = endpointOf(chooseInterface().address, 0);
  gethostname(hello.host, sizeof(hello.host) - 1);
  std::vector<uint16_t> ports(static_cast<size_t>(ranks_));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (transport_ != nullptr) ports = transport_->ports();
  }
  return bytesOf(hello) +
         std::string(reinterpret_cast<const char*>(ports.data()), ports.size() * sizeof(ports[0]));
}

void Communicator::watch(Channel& channel, int rootRank) {
  bool rootLeft = false;
  bool saidReady = false;
  for (;;) {
    const Word now = word();
    if (now.closing) {
      sayGoodbye(channel, now.reason);
      break;
    }
    if (now.connected && !saidReady) {
      channel.send(kReady, "");
      saidReady = true;
    }
    if (!channel.ended()) listen(channel, rootRank, rootLeft);
    if (status() == ncclInProgress && !saidReady && Clock::now() >= deadline_) {
      fail(Failure(ncclSystemError, "could not connect to all other ranks in time"), false);
    }
    waitForNews(channel);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  threads_--;
  changed_.notify_all();
}

Communicator::Word Communicator::word() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {connected_, state_ == State::kClosed, reason_};
}

void Communicator::listen(Channel& channel, int rootRank, bool& rootLeft) {
  try {
    channel.flush();
    channel.receive();
    while (const auto frame = channel.next()) {
      if (frame->type == kGo) setReady();
      if (frame->type == kLeft) {
        rootLeft = rootLeft || frame->payload == bytesOf(static_cast<int32_t>(rootRank));
      }
      if (frame->type == kFail) fail(failureOf(*frame), true);
    }
  } catch (const Failure& failure) {
    fail(failure, false);
  }
  if (!channel.ended() || rootLeft) return;
  if (rootRank >= 0) {
    fail(Failure(ncclRemoteError, "rank " + std::to_string(rootRank) +
                                      (channel.unreachable()
                                           ? " can no longer be reached"
                                           : " ended without leaving the communicator")),
         true);
  } else if (status() == ncclInProgress) {
    fail(Failure(ncclRemoteError, "the process that made the unique id ended during init"), true);
  }
}

void Communicator::waitForNews(const Channel& channel) {
  std::array<pollfd, 2> fds{pollfd{wake_.get(), POLLIN, 0},
                            pollfd{channel.ended() ? -1 : channel.fd(), channel.events(), 0}};
  const bool starting = status() == ncclInProgress;
  poll(fds.data(), fds.size(), starting ? std::max(1, pollTimeout(deadline_)) : -1);
  uint64_t count = 0;
  if (fds[0].revents != 0 && read(wake_.get(), &count, sizeof(count)) < 0) {
    // Somebody else's news; there is only one reader, so this cannot be.
    return;
  }
}

void Communicator::sayGoodbye(Channel& channel, const std::string& reason) {
  if (channel.ended()) return;
  channel.send(kBye, reason);
  if (!Root::isLocal(root_.key)) return;
  // The root answers by closing the connection, after it has told the others.
  const auto until = Clock::now() + kGoodbyeTime;
  while (!channel.ended() && Clock::now() < until) {
    pollfd connection{channel.fd(), channel.events(), 0};
    poll(&connection, 1, pollTimeout(until));
    channel.flush();
    channel.receive();
    while (channel.next()) {
      // Too late to matter.
    }
  }
}

}  // namespace hostccl
