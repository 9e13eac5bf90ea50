#include "root.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "interface.h"
#include "threads.h"

namespace hostccl {

namespace {

// How long a stranger may keep a connection without saying who it is.
constexpr auto kHelloTime = std::chrono::seconds(5);
constexpr size_t kMaxConnections = kMaxRanks + 64;

// Never destroyed: roots may outlive the static destructors.
struct LocalKeys {
  std::mutex mutex;
  std::set<uint64_t> keys;
};
LocalKeys& localKeys() {
  static auto* keys = new LocalKeys;
  return *keys;
}

uint64_t randomKey() {
  uint64_t key = 0;
  while (key == 0) {
    if (getrandom(&key, sizeof(key), 0) != sizeof(key)) throw systemFailure("getrandom");
  }
  return key;
}

Descriptor listenOn(sockaddr_storage& address) {
  Descriptor listener(socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) throw systemFailure("socket");
  socklen_t length = addressLength(address);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), plain, length) != 0) {
    throw systemFailure("binding to " + addressText(address));
  }
  if (listen(listener.get(), SOMAXCONN) != 0) throw systemFailure("listen");
  if (getsockname(listener.get(), plain, &length) != 0) throw systemFailure("getsockname");
  return listener;
}

}  // namespace

ncclUniqueId Root::start() {
  IdContents contents{};
  contents.key = randomKey();
  contents.address = chooseInterface().address;
  auto listener = listenOn(contents.address);
  const std::shared_ptr<Root> root(
      new Root(std::move(listener), contents.key, configuredTimeout()));
  {
    const std::lock_guard<std::mutex> lock(localKeys().mutex);
    localKeys().keys.insert(contents.key);
  }
  startThread("hostccl-root", [root] { root->run(); });
  return packId(contents);
}

bool Root::isLocal(uint64_t key) {
  const std::lock_guard<std::mutex> lock(localKeys().mutex);
  return localKeys().keys.count(key) != 0;
}

Root::Root(Descriptor listener, uint64_t key, Milliseconds timeout)
    : listener_(std::move(listener)), key_(key), timeout_(timeout) {}

void Root::run() {
  while (!finished()) {
    wait();
    if (accepting()) acceptAll();
    for (auto& member : members_) {
      if (member.news) serve(member);
    }
    expire();
    members_.remove_if([](const Member& member) { return member.done; });
  }
  const std::lock_guard<std::mutex> lock(localKeys().mutex);
  localKeys().keys.erase(key_);
}

// A failed root stays until its deadline, to tell those who come late.
bool Root::finished() const {
  if (phase_ == Phase::kFailed) return Clock::now() >= deadline_;
  return phase_ == Phase::kRunning && members_.empty();
}

int Root::waitTime() const {
  auto until = phase_ == Phase::kRunning ? Clock::time_point::max() : deadline_;
  for (const auto& member : members_) {
    if (member.rank < 0) until = std::min(until, member.since + kHelloTime);
  }
  return until == Clock::time_point::max() ? -1 : pollTimeout(until);
}

void Root::wait() {
  std::vector<pollfd> fds;
  for (const auto& member : members_) {
    fds.push_back({member.channel.fd(), member.channel.events(), 0});
  }
  fds.push_back({accepting() ? listener_.get() : -1, POLLIN, 0});
  poll(fds.data(), fds.size(), waitTime());
  auto polled = fds.cbegin();
  for (auto& member : members_) member.news = (polled++)->revents != 0;
}

void Root::acceptAll() {
  for (;;) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0) break;
    if (members_.size() < kMaxConnections) members_.emplace_back(std::move(socket));
  }
  if ((errno == EMFILE || errno == ENFILE) && phase_ != Phase::kFailed) {
    fail(ncclSystemError, "the process with the rendezvous has too many open files");
  }
}

void Root::serve(Member& member) {
  try {
    member.channel.flush();
    member.channel.receive();
    while (!member.done) {
      const auto frame = member.channel.next();
      if (!frame) break;
      handle(member, *frame);
    }
  } catch (const Failure& failure) {
    // A stranger's nonsense is nobody's business; a rank's concerns all.
    if (member.rank >= 0) fail(failure.code, member.name + ": " + failure.what());
    member.done = true;
  }
  if (!member.done && member.channel.ended()) {
    member.done = true;
    lost(member);
  }
}

void Root::handle(Member& member, const Frame& frame) {
  if (member.rank < 0) {
    if (frame.type != kHello) throw Failure(ncclSystemError, "no greeting");
    join(member, frame.payload);
  } else if (frame.type == kReady) {
    member.ready = true;
    countReady();
  } else if (frame.type == kBye) {
    member.done = true;
    leave(member, frame.payload.substr(0, kMaxReason));
  } else {
    throw Failure(ncclSystemError, "unexpected message on the rendezvous connection");
  }
}

void Root::join(Member& member, const std::string& payload) {
  auto parsed = parsePayload<Hello, uint16_t>(payload);
  Hello& hello = parsed.fixed;
  if (hello.key != key_) throw Failure(ncclInvalidArgument, "wrong key");
  hello.host[sizeof(hello.host) - 1] = '\0';
  member.name = "rank " + std::to_string(hello.rank) + " (host " + hello.host + ", pid " +
                std::to_string(hello.pid) + ")";
  if (phase_ == Phase::kFailed) {
    member.channel.send(kFail, failure_);
    return;
  }
  try {
    checkHello(hello, parsed.items.size());
  } catch (const Failure& failure) {
    fail(failure.code, member.name + " " + failure.what());
    member.channel.send(kFail, failure_);
    return;
  }
  if (seats_.empty()) {
    seats_.resize(static_cast<size_t>(hello.ranks));
    // A little earlier than the ranks' own limit, because this end can name who is missing.
    deadline_ = Clock::now() + timeout_ - std::min(timeout_ / 10, Milliseconds(1000));
  }
  member.rank = hello.rank;
  seats_[static_cast<size_t>(hello.rank)] = {true, hello, std::move(parsed.items)};
  if (hello.besideRoot != 0) rootRank_ = hello.rank;
  const bool complete =
      std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.taken; });
  if (complete) introduce();
}

void Root::checkHello(const Hello& hello, size_t ports) {
  if (hello.protocol != kProtocol) {
    throw Failure(ncclInvalidUsage, "has another version of this library");
  }
  if (hello.ranks < 1 || hello.ranks > kMaxRanks || hello.rank < 0 || hello.rank >= hello.ranks ||
      ports != static_cast<size_t>(hello.ranks)) {
    throw Failure(ncclInvalidArgument, "sent an impossible greeting");
  }
  if (seats_.empty()) return;
  if (static_cast<size_t>(hello.ranks) != seats_.size()) {
    throw Failure(ncclInvalidUsage, "expects " + std::to_string(hello.ranks) + " ranks, others " +
                                        std::to_string(seats_.size()));
  }
  if (seats_[static_cast<size_t>(hello.rank)].taken) {
    throw Failure(ncclInvalidUsage, "came twice: two processes have the same rank");
  }
  for (const auto& seat : seats_) {
    if (seat.taken && seat.hello.endpoint.ipv6 != hello.endpoint.ipv6) {
      throw Failure(ncclInvalidUsage,
                    "has an address of another family than others; set NCCL_SOCKET_FAMILY");
    }
  }
}

// Tells every rank where the others wait for it.
void Root::introduce() {
  phase_ = Phase::kConnecting;
  for (auto& member : members_) {
    if (member.rank < 0) continue;
    std::string table = bytesOf(Table{rootRank_});
    for (const auto& seat : seats_) {
      Endpoint endpoint = seat.hello.endpoint;
      endpoint.port = seat.ports[static_cast<size_t>(member.rank)];
      table += bytesOf(endpoint);
    }
    member.channel.send(kTable, table);
  }
}

void Root::countReady() {
  const auto ready = std::count_if(members_.begin(), members_.end(),
                                   [](const Member& member) { return member.ready; });
  if (phase_ != Phase::kConnecting || static_cast<size_t>(ready) != seats_.size()) return;
  phase_ = Phase::kRunning;
  broadcast(kGo, "");
}

void Root::leave(const Member& member, const std::string& reason) {
  if (!reason.empty()) {
    fail(ncclRemoteError, member.name + " " + reason);
  } else if (phase_ != Phase::kRunning) {
    fail(ncclRemoteError, member.name + " left before all ranks were initialised");
  } else {
    broadcast(kLeft, bytesOf(static_cast<int32_t>(member.rank)));
  }
}

void Root::lost(const Member& member) {
  if (member.rank < 0) return;
  fail(ncclRemoteError, member.name + (member.channel.unreachable()
                                           ? " can no longer be reached"
                                           : " ended without leaving the communicator"));
}

void Root::expire() {
  const auto now = Clock::now();
  for (auto& member : members_) {
    if (member.rank < 0 && now >= member.since + kHelloTime) member.done = true;
  }
  const bool starting = phase_ == Phase::kGathering || phase_ == Phase::kConnecting;
  if (starting && now >= deadline_) {
    fail(ncclSystemError, absentees());
    deadline_ = now + timeout_;
  }
}

// While the ranks run a failure is news for the others; before, it ends the init of all.
void Root::fail(ncclResult_t code, const std::string& text) {
  if (phase_ == Phase::kFailed) return;
  failure_ = failPayload(code, text);
  if (phase_ != Phase::kRunning) {
    phase_ = Phase::kFailed;
    if (deadline_ == Clock::time_point::max()) deadline_ = Clock::now() + timeout_;
  }
  broadcast(kFail, failure_);
}

void Root::broadcast(FrameType type, const std::string& payload) {
  for (auto& member : members_) {
    if (member.rank >= 0 && !member.done) member.channel.send(type, payload);
  }
}

std::string Root::absentees() const {
  constexpr int kNamed = 8;
  std::vector<bool> present(seats_.size());
  for (const auto& member : members_) {
    if (member.rank < 0) continue;
    present[static_cast<size_t>(member.rank)] = phase_ == Phase::kGathering || member.ready;
  }
  std::string list;
  int count = 0;
  for (size_t rank = 0; rank < present.size(); rank++) {
    if (present[rank] || ++count > kNamed) continue;
    list += (list.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (count > kNamed) list += " and " + std::to_string(count - kNamed) + " more";
  return std::string(count == 1 ? "rank " : "ranks ") + list + " of " +
         std::to_string(seats_.size()) +
         (phase_ == Phase::kGathering ? " did not come" : " could not connect to all others") +
         " within the time limit (HOSTCCL_TIMEOUT)";
}

}  // namespace hostccl
