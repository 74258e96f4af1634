/* Tests of the C interface that are written in C. Each returns 0, or the line that failed.
 *
 * Thread safety: independent of one another. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

int c_indexes(void);
int c_helpers(void);
int c_searches(void);
int c_batches(void);
int c_filters(void);
int c_messages(void);
int c_calibrations(void);
int c_parts(void);
int c_struct_sizes(void);
int c_texts(void);
int c_files(const char* path);
int c_followed_files(const char* path);
int c_closing(void);
int c_strings(const char* path);
int c_originals(void);

#ifdef __cplusplus
}
#endif
