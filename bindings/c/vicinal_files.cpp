// The C interface's files.
#include "handles.hpp"

extern "C" {

vicinal_index* vicinal_index_open(const char* path, const vicinal_open_options* options,
                                  vicinal_status* status) {
  vicinal_open_options known;
  vicinal_open_options_init(&known);
  if (options != nullptr) {
    const vicinal::Status read = vicinal::c::read_options(options, &known);
    if (!read.ok()) {
      vicinal::c::set(status, read);
      return nullptr;
    }
  }
  vicinal::OpenOptions wanted;
  wanted.read_only = known.read_only != 0;
  wanted.memory_bytes_max = known.memory_bytes_max;
  wanted.mapped = known.mapped != 0;
  wanted.detached = known.detached != 0;
  if (known.create != nullptr) {
    const vicinal::Status read =
        vicinal::c::index_options_of(*known.create, &wanted.create.emplace());
    if (!read.ok()) {
      vicinal::c::set(status, read);
      return nullptr;
    }
  }
  return vicinal::c::make_handle(vicinal::Index::open(path, wanted), status);
}

vicinal_status vicinal_index_save(const vicinal_index* index, const char* path) {
  return vicinal::c::to_c(index->index.save(path));
}

vicinal_status vicinal_index_flush(vicinal_index* index, vicinal_receipt* receipt) {
  const auto flushed = index->index.flush();
  if (flushed.ok() && receipt != nullptr) *receipt = {flushed->sequence, flushed->count};
  return vicinal::c::to_c(flushed.status());
}

vicinal_status vicinal_index_refresh(vicinal_index* index, uint32_t* found) {
  const auto refreshed = index->index.refresh();
  if (found != nullptr) *found = refreshed.ok() && *refreshed ? 1 : 0;
  return vicinal::c::to_c(refreshed.status());
}

}  // extern "C"
