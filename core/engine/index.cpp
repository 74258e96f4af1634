// The public index over the engine.
#include <algorithm>

#include "engine/core.hpp"
#include "engine/image.hpp"
#include "engine/journal.hpp"
#include "engine/log_file.hpp"
#include "engine/opener.hpp"
#include "engine/reader.hpp"
#include "engine/verifier.hpp"
#include "platform/file_system.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {
namespace {

constexpr int kAdd = static_cast<int>(engine::MessageKind::add);
constexpr int kUpsert = static_cast<int>(engine::MessageKind::upsert);
constexpr int kRemove = static_cast<int>(engine::MessageKind::remove);

Result<Receipt> write(engine::Core& core, engine::Message& message,
                      const WriteOptions& options = {}) noexcept {
  if (options.durable) {
    const Status possible = core.can_be_durable();
    if (!possible.ok()) return possible;
  }
  const Status written = core.write_and_wait(message);
  if (!written.ok()) return written;
  if (options.durable) {
    const Status certain = core.journal()->make_durable(message.receipt.sequence);
    if (!certain.ok()) return certain;
  }
  return message.receipt;
}

// Each further turn follows a calibration that came in between: nobody calibrates that often.
constexpr int kEncodeTurnsMax = 16;

bool is_stale(const Status& status) noexcept {
  return status.code() == Code::bad_option &&
         status.a() == static_cast<std::uint64_t>(OptionName::stale_write);
}

// What differs between the two kinds of ids.
IdKind kind_of(std::span<const std::uint64_t>) noexcept { return IdKind::number; }
IdKind kind_of(std::span<const std::string_view>) noexcept { return IdKind::string; }

// How many of these a part has at most: of strings, kPartBytes and one.
std::size_t ids_of_part(std::span<const std::uint64_t> ids) noexcept { return ids.size(); }
std::size_t ids_of_part(std::span<const std::string_view> ids) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    bytes += ids[i].size();
    if (bytes >= engine::kPartBytes) return i + 1;
  }
  return ids.size();
}

Result<std::uint64_t> text_bytes_of(std::span<const std::uint64_t>, std::uint64_t) noexcept {
  return std::uint64_t{0};
}
Result<std::uint64_t> text_bytes_of(std::span<const std::string_view> ids,
                                    std::uint64_t first) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].size() > kStringBytesMax) {
      return Status(Code::bad_id, first + i, static_cast<std::uint64_t>(BadId::too_long));
    }
    bytes += ids[i].size();
  }
  return bytes;
}

void put_ids(std::span<const std::uint64_t> ids, engine::Message& message) noexcept {
  std::copy(ids.begin(), ids.end(), message.ids());
}
void put_ids(std::span<const std::string_view> ids, engine::Message& message) noexcept {
  message.take_strings(ids);
}

}  // namespace

Index::Index(std::shared_ptr<engine::Core> core, bool read_only) noexcept
    : core_(std::move(core)), read_only_(read_only) {}
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

Result<Index> Index::create(const IndexOptions& options) {
  auto core = engine::Core::create(options);
  if (!core.ok()) return core.status();
  return Index(std::move(core).value(), false);
}

Result<Index> Index::from_bytes(std::span<const std::byte> bytes, const OpenOptions& options) {
  const bool log = storage::is_log(bytes);
  auto core = log ? engine::Opener::load(bytes, options.memory_bytes_max)
                  : engine::Image::load(bytes, options.memory_bytes_max);
  if (!core.ok()) return core.status();
  return Index(std::move(core).value(), options.read_only);
}

Result<Index> Index::open(const std::string& path, const OpenOptions& options) {
  platform::FileSystem& files =
      options.files == nullptr ? platform::system_files() : *options.files;
  engine::Opener::Options wanted;
  wanted.read_only = options.read_only;
  wanted.mapped = options.mapped;
  wanted.detached = options.detached;
  wanted.memory_bytes_max = options.memory_bytes_max;
  wanted.upgrade = options.upgrade;
  wanted.commit_on_flush = options.commit_on_flush;
  if (options.create.has_value()) wanted.create = &*options.create;
  auto core = engine::Opener::open(files, path.c_str(), wanted);
  if (!core.ok()) return core.status();
  return Index(std::move(core).value(), options.read_only);
}

Result<FileReport> verify_file(const std::string& path, std::uint64_t memory_bytes_max,
                               platform::FileSystem* files) {
  return engine::verify_file(files == nullptr ? platform::system_files() : *files, path.c_str(),
                             memory_bytes_max);
}

const IndexOptions& Index::options() const noexcept { return core_->options(); }

template <class Id>
Result<Receipt> Index::write_rows(int kind, std::span<const Id> ids, std::span<const float> rows,
                                  const WriteOptions& options) {
  if (options.landed != nullptr) *options.landed = {};
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  if (core_->options().ids != kind_of(ids)) return engine::wrong_kind(core_->options().ids);
  const std::uint32_t dim = core_->options().dim;
  const bool has_rows = kind != kRemove;
  if (has_rows && (rows.size() % dim != 0 || rows.size() / dim != ids.size())) {
    return Status(Code::dimension, rows.size(), ids.size() * dim);
  }
  const std::uint64_t most = options.atomic ? ids.size()
                             : has_rows     ? engine::rows_of_part(dim)
                                            : engine::kPartIds;
  Receipt landed{core_->sequence(), 0};
  for (std::size_t first = 0; first < ids.size();) {
    auto part_ids = ids.subspan(
        first, static_cast<std::size_t>(std::min<std::uint64_t>(most, ids.size() - first)));
    if (!options.atomic) part_ids = part_ids.first(ids_of_part(part_ids));
    const std::size_t count = part_ids.size();
    const auto part = has_rows ? rows.subspan(first * dim, count * dim) : rows;
    const auto written = write_part(kind, part_ids, part, first, options);
    if (!written.ok()) return written.status();
    landed = {written->sequence, landed.count + written->count};
    if (options.landed != nullptr) *options.landed = landed;
    first += count;
  }
  return landed;
}

// One message of rows `first` .. of the whole write.
template <class Id>
Result<Receipt> Index::write_part(int kind, std::span<const Id> ids, std::span<const float> rows,
                                  std::uint64_t first, const WriteOptions& options) {
  const auto text_bytes = text_bytes_of(ids, first);
  if (!text_bytes.ok()) return text_bytes.status();
  Result<Receipt> written = Receipt{};
  // Once, unless somebody calibrates the index between the encoding and the write.
  for (int turn = 0; turn < kEncodeTurnsMax; ++turn) {
    auto message = core_->make_message(static_cast<engine::MessageKind>(kind), ids.size(),
                                       *text_bytes);
    if (!message.ok()) return message.status();
    put_ids(ids, **message);
    if (kind != kRemove) {
      const Status encoded = (*message)->encode(0, rows.data(), ids.size());
      if (encoded.code() == Code::not_finite) {
        return Status(encoded.code(), first + encoded.a(), encoded.b());
      }
      if (!encoded.ok()) return encoded;
    }
    written = write(*core_, **message, options);
    if (!is_stale(written.status())) break;
  }
  const Status status = written.status();
  const bool names_row = status.code() == Code::duplicate_id && status.b() != 0;
  if (names_row) return Status(status.code(), first + status.a(), status.b());
  return written;
}

Result<Receipt> Index::calibrate(std::span<const float> sample, const WriteOptions& options) {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  const std::size_t dim = core_->options().dim;
  if (sample.size() % dim != 0) return Status(Code::dimension, sample.size() % dim, dim);
  const std::uint64_t rows = sample.size() / dim;
  auto message = core_->make_message(engine::MessageKind::calibrate, rows);
  if (!message.ok()) return message.status();
  const Status kept = (*message)->encode(0, sample.data(), rows);
  if (!kept.ok()) return kept;
  return write(*core_, **message, options);
}

Result<Receipt> Index::add(std::span<const std::uint64_t> ids, std::span<const float> rows,
                           const WriteOptions& options) {
  return write_rows(kAdd, ids, rows, options);
}
Result<Receipt> Index::add(IdStrings ids, std::span<const float> rows,
                           const WriteOptions& options) {
  return write_rows(kAdd, ids.list(), rows, options);
}

Result<Receipt> Index::upsert(std::span<const std::uint64_t> ids, std::span<const float> rows,
                              const WriteOptions& options) {
  return write_rows(kUpsert, ids, rows, options);
}
Result<Receipt> Index::upsert(IdStrings ids, std::span<const float> rows,
                              const WriteOptions& options) {
  return write_rows(kUpsert, ids.list(), rows, options);
}

Result<Receipt> Index::remove(std::span<const std::uint64_t> ids, const WriteOptions& options) {
  return write_rows(kRemove, ids, {}, options);
}
Result<Receipt> Index::remove(IdStrings ids, const WriteOptions& options) {
  return write_rows(kRemove, ids.list(), {}, options);
}

Result<Receipt> Index::clear(const WriteOptions& options) {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  auto message = core_->make_message(engine::MessageKind::clear, 0);
  if (!message.ok()) return message.status();
  return write(*core_, **message, options);
}

Result<Receipt> Index::compact() {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  auto message = core_->make_message(engine::MessageKind::compact, 0);
  if (!message.ok()) return message.status();
  auto compacted = write(*core_, **message);
  engine::Journal* journal = core_->journal();
  if (!compacted.ok() || journal == nullptr) return compacted;
  const Status rewritten = journal->rewrite();
  if (!rewritten.ok()) return rewritten;
  return compacted;
}

Result<Receipt> Index::flush() {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  const Status possible = core_->can_be_durable();
  if (!possible.ok()) return possible;
  const std::uint64_t sequence = core_->sequence();
  const Status certain = core_->journal()->make_durable(sequence);
  if (!certain.ok()) return certain;
  return Receipt{sequence, 0};
}

Result<bool> Index::refresh() { return core_->refresh(); }

WriteQueue Index::write_queue() const { return WriteQueue(core_, read_only_); }

std::uint32_t Index::pump(std::uint64_t budget_us) { return core_->pump(budget_us); }

Result<std::uint32_t> Index::ask_flush() {
  if (core_->closed()) return Status(Code::closed);
  if (read_only_) return Status(Code::read_only);
  const Status possible = core_->can_be_durable();
  if (!possible.ok() && possible.code() != Code::read_only) return possible;
  const std::uint32_t number = core_->journal()->ask();
  core_->doorbell().ring();
  return number;
}

Index::Flushed Index::serve_flush() {
  Flushed flushed;
  engine::Journal* journal = core_->journal();
  if (journal == nullptr) return flushed;
  const auto served = journal->serve();
  if (served.has_value()) flushed = {served->asks, served->durable, served->status};
  return flushed;
}

Status Index::close_file() noexcept { return core_->close_log(); }

std::uint64_t Index::largest_id() const { return core_->largest_id(); }

const void* Index::doorbell() const noexcept { return core_->doorbell().address(); }

Index Index::share() const { return Index(core_, read_only_); }

Index Index::through(std::shared_ptr<void> owner) const {
  return Index(std::shared_ptr<engine::Core>(std::move(owner), core_.get()), read_only_);
}

std::uint32_t Index::bury(std::uint32_t realm, bool reuse) noexcept {
  const std::uint32_t retired = core_->slots().retire_owned(
      realm, reuse ? sync::Afterwards::reuse : sync::Afterwards::keep);
  core_->take_role_from(realm);
  if (retired > 0) core_->doorbell().ring();  // a pump without messages frees what they held
  return retired;
}

WeakIndex Index::weak() const {
  WeakIndex weak;
  weak.core_ = core_;
  weak.read_only_ = read_only_;
  return weak;
}

Result<Index> WeakIndex::lock() const {
  auto core = core_.lock();
  if (core == nullptr) return Status(Code::closed);
  return Index(std::move(core), read_only_);
}

Helper::Helper(std::shared_ptr<engine::Core> core,
               std::unique_ptr<engine::HelperCore> helper) noexcept
    : core_(std::move(core)), helper_(std::move(helper)) {}
Helper::Helper(Helper&&) noexcept = default;
// The helper goes before the index that it belongs to.
Helper& Helper::operator=(Helper&& other) noexcept {
  helper_ = std::move(other.helper_);
  core_ = std::move(other.core_);
  return *this;
}
Helper::~Helper() = default;

bool Helper::help(std::uint64_t wait_us_max) {
  return helper_ != nullptr && helper_->help(wait_us_max);
}

Status Index::set_helpers(std::uint32_t count) {
  if (count > 0 && core_->closed()) return Status(Code::closed);
  return core_->helper_threads().set(count);
}

Result<Helper> Index::helper() const {
  if (core_->closed()) return Status(Code::closed);
  auto helper = engine::HelperCore::open(*core_);
  if (!helper.ok()) return helper.status();
  return Helper(core_, std::move(helper).value());
}

void Index::wake_helpers() noexcept { core_->help().ring(); }

Reader Index::reader() const {
  auto opened = engine::ReaderCore::open(core_);
  if (!opened.ok()) return Reader(nullptr, opened.status());
  return Reader(std::move(opened).value(), Status());
}

Result<std::vector<std::byte>> Index::to_bytes() const {
  auto reader = engine::ReaderCore::open(core_);
  if (!reader.ok()) return reader.status();
  auto image = engine::Image::save(**reader);
  if (!image.ok()) return image.status();
  return std::vector<std::byte>(image->data(), image->data() + image->size());
}

Status Index::save(const std::string& path) const {
  if (core_->closed()) return Status(Code::closed);
  engine::Journal* journal = core_->journal();
  if (journal != nullptr && journal->is_at(path.c_str())) {
    return journal->make_durable(core_->sequence());
  }
  auto reader = engine::ReaderCore::open(core_);
  if (!reader.ok()) return reader.status();
  return engine::save_log_file(platform::system_files(), path.c_str(), **reader);
}

Stats Index::stats() const {
  const auto taken = try_stats();
  return taken.ok() ? *taken : Stats{};
}

Result<Stats> Index::try_stats() const {
  if (core_->closed()) return Status(Code::closed);
  return core_->stats();
}

void Index::close() noexcept { core_->close(); }

}  // namespace vicinal
