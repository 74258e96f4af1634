// Projects: what npm test runs as stages. The same tests/web files run in Node and in Chromium;
// NAME.node.test.mjs runs only in Node, NAME.browser.test.mjs only in Chromium.
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const scale = Number(process.env.VICINAL_TEST_SCALE ?? '1');
const testTimeout = 60_000 * scale;
const env = { VICINAL_TEST_SCALE: String(scale) };

// Tests import what is shipped: the built package, under the name its users write.
const alias = [{
  find: /^vicinal$/,
  replacement: fileURLToPath(new URL('./dist/index.js', import.meta.url)),
}, {
  find: /^vicinal\/(\w+)$/,
  replacement: fileURLToPath(new URL('./dist/$1.js', import.meta.url)),
}];

// Without these headers a page has no SharedArrayBuffer.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

// server.headers does not reach every response of the browser runner.
const isolation = {
  name: 'isolation',
  configureServer(server) {
    server.middlewares.use((_request, response, next) => {
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      next();
    });
  },
};

const chromiumArguments = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A project of tests that run in Node, on one folder. */
function nodeProject(name, include, options = {}) {
  return {
    resolve: { alias },
    test: { name, include, pool: 'forks', testTimeout, hookTimeout: testTimeout, ...options },
  };
}

export default defineConfig({
  test: {
    projects: [
      nodeProject('node', ['tests/web/**/*.test.mjs', 'tests/format/*.test.mjs'], {
        exclude: ['**/*.browser.test.mjs'],
        env,
      }),
      nodeProject('tidy', ['tests/tidy/**/*.test.mjs']),
      nodeProject('cli', ['tests/cli/**/*.test.mjs']),
      nodeProject('package', ['tests/package/**/*.test.mjs'], { fileParallelism: false }),
      {
        plugins: [isolation],
        server: { headers },
        resolve: { alias },
        optimizeDeps: { noDiscovery: true },
        test: {
          name: 'chromium',
          include: ['tests/web/**/*.test.mjs'],
          exclude: ['**/*.node.test.mjs'],
          env,
          testTimeout,
          hookTimeout: testTimeout,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({
              launchOptions: { executablePath: '/usr/bin/chromium', args: chromiumArguments },
            }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
    ],
  },
});
