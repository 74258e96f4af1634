// The functions of bindings/wasm/exports.hpp, as both modules offer them. Results may be negative
// where an address or count is meant: `>>> 0` them.

export const kCoreFunctions = [
  'vic_abi_version', 'vic_block_layout', 'vic_allocate', 'vic_release',
  'vic_index_create', 'vic_index_release', 'vic_index_stats',
  'vic_index_close', 'vic_index_doorbell', 'vic_index_pump',
  'vic_message_create', 'vic_message_encode', 'vic_message_encode_apart',
  'vic_message_count_encoded', 'vic_message_submit', 'vic_message_done', 'vic_message_release',
  'vic_reader_open', 'vic_reader_close', 'vic_reader_abandon', 'vic_reader_snapshot',
  'vic_reader_filter_buffer',
  'vic_reader_filter_create', 'vic_reader_filter_release',
  'vic_reader_string_buffer', 'vic_reader_search',
  'vic_reader_batch_buffer', 'vic_reader_search_batch',
  'vic_reader_has', 'vic_reader_get', 'vic_reader_refresh',
  'vic_save_create', 'vic_save_next', 'vic_save_release',
  'vic_load_create', 'vic_load_take', 'vic_load_finish', 'vic_load_release',
  'vic_file_open', 'vic_index_ask_flush', 'vic_index_serve_flush', 'vic_index_refresh',
  'vic_index_close_file',
] as const;

/** Of the shared-memory module only. */
export const kThreadFunctions = [
  'vic_bootstrap_claims', 'vic_bootstrap_stacks', 'vic_bootstrap_count',
  'vic_bootstrap_stack_bytes', 'vic_thread_area_create', 'vic_thread_area_bytes',
  'vic_thread_area_release', 'vic_set_may_block', 'vic_realms', 'vic_realm_count',
  'vic_realm_lives', 'vic_realm_enter', 'vic_realm_leave', 'vic_realm_bury',
  'vic_set_processors', 'vic_helper_open', 'vic_helper_help', 'vic_helper_close',
  'vic_index_wake_helpers',
  '__wasm_init_tls', '__wasm_call_ctors',
] as const;

type CoreFunction = (...args: number[]) => number;

export type CoreExports = Record<(typeof kCoreFunctions)[number], CoreFunction>;
type ThreadFunctions = Record<(typeof kThreadFunctions)[number], CoreFunction>;
export type ThreadExports = CoreExports & ThreadFunctions & {
  readonly __stack_pointer: WebAssembly.Global;
  readonly __tls_size: WebAssembly.Global;
};

/** The name of the first function that a module lacks. */
export function missingFunction(exports: object, names: readonly string[]): string | undefined {
  return names.find((name) => typeof (exports as Record<string, unknown>)[name] !== 'function');
}
