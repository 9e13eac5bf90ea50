// One rank's membership in a group of ranks.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "channel.h"
#include "collective.h"
#include "deadline.h"
#include "exchange.h"
#include "failure.h"
#include "protocol.h"
#include "stream.h"
#include "transport.h"

namespace hostccl {

// All methods may be called from any thread. None but waitInitialised,
// finish and close ever blocks.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  struct Place {
    int ranks;
    int rank;
    bool blocking;  // whether the calls of the C API wait
  };
  // Checks the arguments and begins to initialise in a thread. Throws Failure.
  static std::shared_ptr<Communicator> start(const ncclUniqueId& id, const Place& place);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool blocking() const { return blocking_; }

  // What ncclCommGetAsyncError says.
  ncclResult_t status();
  // The first failure in words; empty when there is none.
  std::string detail();
  ncclResult_t waitInitialised();

  // Queues this rank's part in a collective. Throws Failure.
  void enqueue(Stream& stream, const Collective& collective);
  // Queues messages that pass at the same time; their numbers are filled in here. Throws Failure.
  void enqueue(Stream& stream, std::vector<Transfer> group);
  // No more operations will come; the status is ncclInProgress until those queued are done.
  void finalize();
  // Waits until the queued operations are done or have failed.
  void finish();
  // Leaves the group. After an abort the operation that runs ends at once and those queued never begin.
  // Throws Failure when it does not end within a second.
  void close(bool aborts);

 private:
  enum class State { kInitializing, kReady, kFailed, kClosed };
  struct Word {  // what the watching thread has been told to pass on
    bool connected;
    bool closing;
    std::string reason;
  };

  // What an executor does; without a transport where the group is one rank.
  using Operation = std::function<void(const Transport*)>;

  Communicator(const IdContents& root, const Place& place, Milliseconds timeout);

  // The init thread.
  void initialize();
  void join(std::unique_ptr<Channel>& channel);
  void openTransport();
  std::string greeting();
  // The watching thread.
  void watch(Channel& channel, int rootRank);
  void listen(Channel& channel, int rootRank, bool& rootLeft);
  void sayGoodbye(Channel& channel, const std::string& reason);
  void waitForNews(const Channel& channel);
  Word word();
  // The executors.
  void enqueueLocked(Stream& stream, Operation operation);
  void requireReady();
  void execute(const Operation& operation);
  void compute(const Transport* transport, const Operation& operation);
  void awaitExplanation();

  void setReady();
  // The first failure counts, except that one that names a lost rank replaces one that does not.
  void fail(const Failure& failure, bool namesRank);
  void wake();

  const IdContents root_;
  const int ranks_;
  const int rank_;
  const bool blocking_;
  const Milliseconds timeout_;
  const Clock::time_point deadline_;  // of init
  const Descriptor wake_;             // an eventfd

  std::mutex mutex_;  // never held while anything blocks
  std::condition_variable changed_;
  State state_ = State::kInitializing;
  ncclResult_t code_ = ncclSuccess;
  std::string detail_;
  bool namesRank_ = false;
  bool finalizing_ = false;
  bool connected_ = false;
  std::string reason_;  // for leaving, said to the others
  int threads_ = 0;     // init and watch
  int queued_ = 0;      // operations in streams, running ones included
  int running_ = 0;
  uint32_t nextTag_ = 0;
  std::vector<uint32_t> sent_;  // messages to each rank
  std::vector<uint32_t> received_;
  std::shared_ptr<Transport> transport_;
};

// The communicator behind a handle of the C API. Throws Failure when there is none.
std::shared_ptr<Communicator> communicatorOf(const void* handle);

}  // namespace hostccl
