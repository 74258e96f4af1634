// The public reader over the engine's.
#include "engine/reader.hpp"
#include "search/id_filter.hpp"
#include "vicinal/vicinal.hpp"

namespace vicinal {

Filter::Filter(std::shared_ptr<engine::Core> core,
               std::unique_ptr<search::IdFilter> filter) noexcept
    : core_(std::move(core)), filter_(std::move(filter)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

std::size_t Filter::size() const noexcept { return filter_ == nullptr ? 0 : filter_->size(); }

Reader::Reader(std::unique_ptr<engine::ReaderCore> core, Status status) noexcept
    : core_(std::move(core)), status_(status) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Status Reader::status() const noexcept {
  if (core_ == nullptr) return status_.ok() ? Status(Code::closed) : status_;
  return core_->core().closed() ? Status(Code::closed) : Status();
}

template <class Id>
Result<Filter> Reader::make_filter(std::span<const Id> ids) {
  if (const Status open = status(); !open.ok()) return open;
  const IdKind kind = core_->core().options().ids;
  const bool strings = std::is_same_v<Id, std::string_view>;
  if ((kind == IdKind::string) != strings) return engine::wrong_kind(kind);
  auto filter = search::IdFilter::create(ids);
  if (!filter.ok()) return filter.status();
  return Filter(core_->shared_core(), std::move(filter).value());
}

Result<Filter> Reader::filter(std::span<const std::uint64_t> ids) { return make_filter(ids); }
Result<Filter> Reader::filter(IdStrings ids) { return make_filter(ids.list()); }

Status Reader::filter_of(const SearchOptions& options, search::IdFilter** filter) const noexcept {
  *filter = nullptr;
  if (options.compiled_filter == nullptr) return {};
  const Filter& wanted = *options.compiled_filter;
  if (options.filter || options.string_filter || wanted.core_.get() != &core_->core()) {
    return Status(Code::bad_option, static_cast<std::uint64_t>(OptionName::filter));
  }
  *filter = wanted.filter_.get();
  return {};
}

namespace {

Hits hits_of(const search::Found& found, std::uint64_t sequence) noexcept {
  Hits hits = found.text_offsets == nullptr
                  ? Hits(found.ids, found.scores, sequence)
                  : Hits(StringIds(found.text, found.text_offsets, found.ids.size()),
                         found.scores, sequence);
  hits.rows_estimated = found.rows_estimated;
  hits.rows_scored = found.rows_scored;
  hits.reranked = found.reranked;
  return hits;
}

}  // namespace

Result<Hits> Reader::search(std::span<const float> query, const SearchOptions& options) {
  if (core_ == nullptr) return status();
  search::IdFilter* filter = nullptr;
  if (const Status status = filter_of(options, &filter); !status.ok()) return status;
  search::Found found;
  std::uint64_t sequence = 0;
  const Status searched = core_->search(query, options, filter, &found, &sequence);
  if (!searched.ok()) return searched;
  return hits_of(found, sequence);
}

Status Reader::visit_each(std::span<const float> queries, const SearchOptions& options,
                          HitsVisit visit, void* context, std::uint64_t* sequence) noexcept {
  if (core_ == nullptr) return status();
  search::IdFilter* filter = nullptr;
  if (const Status status = filter_of(options, &filter); !status.ok()) return status;
  std::uint64_t answering = 0;
  const Status searched = core_->search_each(
      queries, options, filter,
      [&](std::size_t query, const search::Found& found) {
        visit(context, query, hits_of(found, answering));
      },
      &answering);
  if (sequence != nullptr) *sequence = answering;
  return searched;
}

Result<BatchHits> Reader::search_batch(std::span<const float> queries,
                                       const SearchOptions& options) {
  BatchHits batch;
  const HitsVisit append = [](void* context, std::size_t, const Hits& hits) noexcept {
    auto& to = *static_cast<BatchHits*>(context);
    to.ids_.insert(to.ids_.end(), hits.ids().begin(), hits.ids().end());
    const StringIds& strings = hits.string_ids();
    if (strings.offsets() != nullptr) {
      if (to.text_offsets_.empty()) to.text_offsets_.push_back(0);
      const std::uint64_t before = to.text_offsets_.back();
      for (std::size_t i = 1; i <= strings.size(); ++i) {
        to.text_offsets_.push_back(before + strings.offsets()[i]);
      }
      to.text_.insert(to.text_.end(), strings.text(),
                      strings.text() + strings.offsets()[strings.size()]);
    }
    to.scores_.insert(to.scores_.end(), hits.scores().begin(), hits.scores().end());
    to.reranked_ = hits.reranked;
    to.ends_.push_back({to.scores_.size(), hits.rows_estimated, hits.rows_scored});
  };
  const Status searched = visit_each(queries, options, append, &batch, &batch.sequence_);
  if (!searched.ok()) return searched;
  return batch;
}

bool Reader::has(std::uint64_t id) {
  bool found = false;
  std::uint64_t sequence = 0;
  return core_ != nullptr && core_->has(id, &found, &sequence).ok() && found;
}

bool Reader::has(std::string_view id) {
  bool found = false;
  std::uint64_t sequence = 0;
  return core_ != nullptr && core_->has(id, &found, &sequence).ok() && found;
}

template <class Id>
Result<std::vector<float>> Reader::get_vector(Id id) {
  if (core_ == nullptr) return status();
  std::vector<float> vector(core_->core().options().dim);
  const Status got = look_up(id, vector);
  if (!got.ok()) return got;
  return vector;
}

template <class Id>
Status Reader::look_up(Id id, std::span<float> vector) {
  if (core_ == nullptr) return status();
  const std::size_t dim = core_->core().options().dim;
  if (vector.size() != dim) return Status(Code::dimension, vector.size(), dim);
  bool found = false;
  std::uint64_t sequence = 0;
  const Status got = core_->get(id, vector.data(), &found, &sequence);
  if (!got.ok() || found) return got;
  if constexpr (std::is_same_v<Id, std::string_view>) return Status(Code::unknown_id, 0, 1);
  else return Status(Code::unknown_id, id);
}

Result<std::vector<float>> Reader::get(std::uint64_t id) { return get_vector(id); }
Result<std::vector<float>> Reader::get(std::string_view id) { return get_vector(id); }

Status Reader::get_into(std::uint64_t id, std::span<float> vector) { return look_up(id, vector); }
Status Reader::get_into(std::string_view id, std::span<float> vector) {
  return look_up(id, vector);
}

Reader::Size Reader::count() {
  Size size;
  if (core_ == nullptr || !core_->count(&size.rows, &size.sequence).ok()) return {};
  return size;
}

Reader Reader::snapshot() {
  if (core_ == nullptr) return Reader(nullptr, status());
  auto copy = core_->snapshot();
  if (!copy.ok()) return Reader(nullptr, copy.status());
  return Reader(std::move(copy).value(), Status());
}

void Reader::abandon(Reader reader, bool reuse) noexcept {
  if (reader.core_ == nullptr) return;
  engine::ReaderCore::abandon(std::move(reader.core_),
                              reuse ? sync::Afterwards::reuse : sync::Afterwards::keep);
}

}  // namespace vicinal
