// The commit that this program was built from. Defined in a file that each build writes anew when
// it is no longer true, so that a new commit compiles that one file.
//
// Thread safety: a constant.
#pragma once

namespace vicinal::bench {

// 40 hex digits, " and changes" behind them where the tree differed; "unknown" outside of git.
extern const char* const kCommit;

}  // namespace vicinal::bench
