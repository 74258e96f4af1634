// The rules of the house that a program can check. A rule looks at one file and returns the lines
// that break it; `bad` and `good` are its controls: texts it must flag, and texts it must leave
// alone.
import { functionsOf } from './functions.mjs';
import { layeringProblems } from './layering.mjs';

const FILE_LINES_MAX = 600;
const FUNCTION_LINES_MAX = 70;
const COLUMNS_MAX = 100;

// Each entry needs a reason; an entry that is no longer needed fails the test.
export const PLATFORM_CONDITION_ALLOWED = new Map([]);

const PLATFORM_CONDITION = new RegExp(String.raw`#\s*(?:if|ifdef|ifndef|elif)\b.*`
  + '(?:EMSCRIPTEN|__wasm|__linux|__APPLE__|_WIN32|__unix|__x86_64|__aarch64|__AVX|__SSE|__ARM'
  + '|VICINAL_WASM|_MSC_VER)');

const isCpp = (file) => /\.(cpp|hpp|h|c)$/.test(file);
const isScript = (file) => /\.(ts|mts|mjs|js)$/.test(file);
const isSource = (file) => isCpp(file) || isScript(file)
  || /\.(pml|sh|cmake)$|CMakeLists\.txt$/.test(file);
const isCore = (file) => file.startsWith('core/') && isCpp(file);
const isTest = (file) => file.startsWith('tests/') && !file.startsWith('tests/tidy/');

/** A check that flags every line that the pattern matches, comments left out for C++. */
function lines(pattern, message) {
  return (file, text) => {
    const code = isCpp(file) ? withoutComments(text) : text;
    return code.split('\n').flatMap((content, index) =>
      (pattern.test(content) ? [{ line: index + 1, message }] : []));
  };
}

function withoutComments(text) {
  return text.replace(/"(?:\\.|[^"\\\n])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (part) => (part.startsWith('"') ? part : part.replace(/[^\n]/g, ' ')));
}

// Written in two parts so that this file does not break its own rule.
const machinePath = (root, rest) => `/${root}/${rest}`;

export const rules = [
  {
    name: 'includes follow the layering table',
    applies: (file) => isCpp(file) && /^(core|bindings)\//.test(file),
    check: layeringProblems,
    bad: [
      { file: 'core/base/x.hpp', text: '#include "sync/atomic.hpp"' },
      { file: 'core/sync/x.cpp', text: '#include "storage/log.hpp"' },
      { file: 'core/search/x.cpp', text: '#include <platform/clock.hpp>' },
      { file: 'core/quant/x.cpp', text: '#include "vicinal/vicinal.hpp"' },
      { file: 'core/quant/x.cpp', text: '#include "../base/assert.hpp"' },
      { file: 'core/quant/x.cpp', text: '#include "neighbour.hpp"' },
      { file: 'core/include/vicinal/x.hpp', text: '#include "base/assert.hpp"' },
      { file: 'bindings/c/x.cpp', text: '#include "engine/index.hpp"' },
      { file: 'core/other/x.cpp', text: '' },
    ],
    good: [
      { file: 'core/base/x.hpp', text: '#include "vicinal/status.hpp"' },
      { file: 'core/engine/x.cpp', text: '#include "search/a.hpp"\n#include "vicinal/vicinal.h"' },
      { file: 'bindings/wasm/x.cpp', text: '#include <vicinal/vicinal.h>\n#include "c/a.hpp"' },
    ],
  },
  {
    name: `a file has at most ${FILE_LINES_MAX} lines`,
    applies: isSource,
    check: (_file, text) => {
      const count = text.split('\n').length - 1;
      return count > FILE_LINES_MAX ? [{ line: count, message: `${count} lines` }] : [];
    },
    bad: [{ file: 'core/base/x.hpp', text: '\n'.repeat(FILE_LINES_MAX + 1) }],
    good: [{ file: 'core/base/x.hpp', text: '\n'.repeat(FILE_LINES_MAX) }],
  },
  {
    name: `a function has at most ${FUNCTION_LINES_MAX} lines`,
    applies: (file) => isCpp(file) || isScript(file),
    check: (file, text) => functionsOf(text, isScript(file))
      .filter(({ name, lines: count }) => count > FUNCTION_LINES_MAX && !/^describe\b/.test(name))
      .map(({ name, line, lines: count }) => ({ line, message: `${count} lines: ${name}` })),
    bad: [
      { file: 'core/a.cpp', text: `int f(int a) {${'\n'.repeat(FUNCTION_LINES_MAX)}}` },
      { file: 'core/a.cpp', text: `A::A(int a) noexcept : b_{a}, c_(a) {${'\n'.repeat(90)}}` },
      { file: 'core/a.cpp', text: `int f() {\n if (a) {${'\n'.repeat(90)} }\n}` },
      { file: 'core/a.cpp', text: `auto f = [&](int a) -> int {${'\n'.repeat(90)}};` },
      { file: 'web/src/a.ts', text: `const f = (a: { b: 1 }) => {${'\n'.repeat(90)}};` },
      { file: 'web/src/a.ts', text: `class A { f(a: B): Promise<C> {${'\n'.repeat(90)}} }` },
    ],
    good: [
      { file: 'core/a.cpp', text: `int f(int a) {${'\n'.repeat(FUNCTION_LINES_MAX - 1)}}` },
      { file: 'core/a.cpp', text: `namespace a {\nstruct B {${'\n'.repeat(90)}};\n}` },
      { file: 'core/a.cpp', text: `constexpr int k[] = {${'\n1,'.repeat(90)}};` },
      { file: 'core/a.cpp', text: `// f() {\nint a = '{';${'\n'.repeat(90)}` },
      { file: 'tests/a.mjs', text: `describe('a', () => {${'\n'.repeat(90)}});` },
    ],
  },
  {
    name: `a line has at most ${COLUMNS_MAX} columns`,
    applies: isSource,
    check: (_file, text) => text.split('\n').flatMap((content, index) =>
      ([...content].length > COLUMNS_MAX && !/^\W*https?:\/\/\S+$/.test(content)
        ? [{ line: index + 1, message: `${[...content].length} columns` }] : [])),
    bad: [{ file: 'core/a.cpp', text: 'x'.repeat(COLUMNS_MAX + 1) }],
    good: [{ file: 'core/a.cpp', text: 'é'.repeat(COLUMNS_MAX) }],
  },
  {
    name: 'only sync/atomic.hpp includes <atomic>',
    applies: (file) => isCpp(file) && file !== 'core/sync/atomic.hpp',
    check: lines(/#\s*include\s*<atomic>/, 'use sync/atomic.hpp'),
    bad: [{ file: 'core/search/a.cpp', text: '#include <atomic>' }],
    good: [{ file: 'core/search/a.cpp', text: '#include "sync/atomic.hpp"' }],
  },
  {
    name: 'no stand-alone fences',
    applies: isCpp,
    check: lines(/atomic_(?:thread|signal)_fence|__sync_synchronize|_mm_[lms]fence/,
      'ThreadSanitizer does not model fences: give an operation its order'),
    bad: [{ file: 'core/sync/a.cpp', text: 'std::atomic_thread_fence(seq_cst);' }],
    good: [{ file: 'core/sync/a.cpp', text: '// an atomic_thread_fence would do nothing here' }],
  },
  {
    name: 'atomic operations name their order',
    applies: isCore,
    check: lines(/\.load\(\s*\)|\b__sync_\w+\(/, 'name the memory order'),
    bad: [
      { file: 'core/sync/a.cpp', text: 'return pin.load();' },
      { file: 'core/sync/a.cpp', text: '__sync_fetch_and_add(&a, 1);' },
    ],
    good: [{ file: 'core/sync/a.cpp', text: 'return pin.load(acquire);' }],
  },
  {
    name: 'atomic builtins only below and inside sync/',
    applies: (file) => isCpp(file) && !/^core\/(platform|sync)\//.test(file),
    check: lines(/\b__atomic_\w+\(/, 'use sync/atomic.hpp'),
    bad: [{ file: 'core/search/a.cpp', text: '__atomic_store_n(&a, 1, __ATOMIC_RELEASE);' }],
    good: [{ file: 'core/sync/a.cpp', text: '__atomic_store_n(&a, 1, __ATOMIC_RELEASE);' }],
  },
  {
    name: 'platform conditions only in platform/ and simd/',
    applies: (file) => isCpp(file) && /^(core|bindings\/c|native)\//.test(file)
      && !/^core\/(platform|simd)\//.test(file) && !PLATFORM_CONDITION_ALLOWED.has(file),
    check: lines(PLATFORM_CONDITION, 'platform #if'),
    bad: [
      { file: 'core/engine/a.cpp', text: '#ifdef __EMSCRIPTEN__' },
      { file: 'core/sync/a.hpp', text: '#  if defined(__x86_64__) && !defined(X)' },
    ],
    good: [
      { file: 'core/engine/a.cpp', text: '#ifdef VICINAL_ATOMICS_COUNTED' },
      { file: 'core/platform/a.hpp', text: '#ifdef __EMSCRIPTEN__' },
    ],
  },
  {
    name: 'system headers only in platform/ and simd/',
    applies: (file) => isCore(file) && !/^core\/(platform|simd)\//.test(file),
    check: lines(
      /#\s*include\s*<(?:\w+\/\S+|unistd\.h|pthread\.h|fcntl\.h|\w*intrin\.h|wasm_simd128\.h)>/,
      'belongs behind platform/ or simd/'),
    bad: [
      { file: 'core/storage/a.cpp', text: '#include <sys/mman.h>' },
      { file: 'core/quant/a.cpp', text: '#include <immintrin.h>' },
    ],
    good: [{ file: 'core/platform/posix/a.cpp', text: '#include <sys/mman.h>' }],
  },
  {
    name: 'the core never throws, prints, exits or reads the environment',
    applies: (file) => isCore(file) && !file.startsWith('core/platform/'),
    check: lines(/\bthrow\b|\bcatch\s*\(|std::c(?:out|err)\b|\bf?printf\(|\bexit\(|\bgetenv\(/,
      'return a Status instead'),
    bad: [
      { file: 'core/engine/a.cpp', text: 'throw std::bad_alloc();' },
      { file: 'core/engine/a.cpp', text: 'std::fprintf(stderr, "x");' },
      { file: 'core/engine/a.cpp', text: 'const char* a = std::getenv("A");' },
    ],
    good: [
      { file: 'core/engine/a.cpp', text: 'std::snprintf(text, size, "%u", n); // never throws' },
      { file: 'core/platform/posix/a.cpp', text: 'std::getenv("VICINAL_KERNEL")' },
    ],
  },
  {
    name: 'every header says #pragma once',
    applies: (file) => /\.(hpp|h)$/.test(file),
    check: (_file, text) => (/^#pragma once$/m.test(text) ? [] : [{ line: 1, message: 'missing' }]),
    bad: [{ file: 'core/base/a.hpp', text: '#ifndef A_HPP\n#define A_HPP\n#endif' }],
    good: [{ file: 'core/base/a.hpp', text: '// Purpose.\n#pragma once\n' }],
  },
  {
    name: 'no path of one machine',
    applies: (file) => file !== 'package-lock.json',
    check: lines(/(?:^|[^a-zA-Z])\/(?:work|farm|root|home\/\w+)\//, 'path of one machine'),
    bad: [
      { file: 'docs/a.md', text: `see ${machinePath('work', 'main')}` },
      { file: 'scripts/a.mjs', text: `'${machinePath('home', 'someone/a')}'` },
    ],
    good: [{ file: 'docs/a.md', text: 'core/network/a.hpp, /usr/share/nodejs' }],
  },
  {
    name: 'no test is switched off without its reason, or cannot fail',
    applies: isTest,
    check: (file, text) => lines(
      /EXPECT_TRUE\(true\)|expect\(true\)|\.(?:skip|only)\(|DISABLED_|\bxit\(|GTEST_SKIP/,
      'put the reason on the same line')(file, text).filter(({ line }) =>
      !/\/\/ \w+/.test(text.split('\n')[line - 1])),
    bad: [
      { file: 'tests/unit/a.cpp', text: 'TEST(A, DISABLED_B) {' },
      { file: 'tests/web/a.test.mjs', text: 'it.skip("a", f);' },
    ],
    good: [{ file: 'tests/web/a.test.mjs', text: 'it.skip("a", f); // Node 20 has no such call' }],
  },
];
