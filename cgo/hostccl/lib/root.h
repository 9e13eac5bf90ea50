// The rendezvous: a thread in the process that made the unique id. It
// introduces the ranks to each other and then, while they live, tells all of
// them when one is lost, by name. TCP alone tells only the neighbours.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "channel.h"
#include "deadline.h"
#include "protocol.h"

namespace hostccl {

class Root {
 public:
  // Starts a root and returns the id that leads to it.
  static ncclUniqueId start();
  // Whether the root with this key runs in this process.
  static bool isLocal(uint64_t key);

 private:
  enum class Phase { kGathering, kConnecting, kRunning, kFailed };

  struct Member {
    explicit Member(Descriptor socket) : channel(std::move(socket), kMaxHello) {}
    Channel channel;
    Clock::time_point since = Clock::now();
    int rank = -1;  // until its Hello has been accepted
    bool news = true;  // something can be read or written
    bool ready = false;
    bool done = false;  // to be removed
    std::string name;
  };
  struct Seat {
    bool taken = false;
    Hello hello;
    std::vector<uint16_t> ports;
  };

  Root(Descriptor listener, uint64_t key, Milliseconds timeout);
  void run();
  bool finished() const;
  bool accepting() const { return phase_ == Phase::kGathering || phase_ == Phase::kFailed; }
  int waitTime() const;
  void wait();
  void acceptAll();
  void serve(Member& member);
  void handle(Member& member, const Frame& frame);
  void join(Member& member, const std::string& payload);
  void checkHello(const Hello& hello, size_t ports);
  void introduce();
  void countReady();
  void leave(const Member& member, const std::string& reason);
  void lost(const Member& member);
  void expire();
  void fail(ncclResult_t code, const std::string& text);
  void broadcast(FrameType type, const std::string& payload);
  std::string absentees() const;

  Descriptor listener_;
  const uint64_t key_;
  const Milliseconds timeout_;
  Phase phase_ = Phase::kGathering;
  // From the first arrival on, while the ranks are being gathered and connected.
  Clock::time_point deadline_ = Clock::time_point::max();
  std::list<Member> members_;
  std::vector<Seat> seats_;
  int32_t rootRank_ = -1;
  std::string failure_;  // the payload of Fail, for those who come late
};

}  // namespace hostccl
