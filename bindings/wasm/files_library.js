// What the core asks of files, for the thread-less module: the loader's functions of the same names
// (web/src/files/file_table.ts).
const names = [
  'vicinal_file_open', 'vicinal_file_close', 'vicinal_file_size', 'vicinal_file_read',
  'vicinal_file_write', 'vicinal_file_sync', 'vicinal_file_truncate', 'vicinal_file_lock',
  'vicinal_file_is_at', 'vicinal_random', 'vicinal_process_id',
];
const library = {};
for (const name of names) {
  // Emscripten takes the function's text: what it refers to has to be in there.
  library[name] = new Function('...values', `return Module['files'].${name}(...values);`);
}
mergeInto(LibraryManager.library, library);
