// The C interface's files.
#include "handles.hpp"

extern "C" {

vicinal_index* vicinal_index_open(const char* path, vicinal_status* status) {
  return vicinal::c::make_handle(vicinal::Index::open(path), status);
}

vicinal_status vicinal_index_save(const vicinal_index* index, const char* path) {
  return vicinal::c::to_c(index->index.save(path));
}

}  // extern "C"
