// Reading what the test runners report. A count is { passed, failed, skipped }.
import { existsSync, readFileSync } from 'node:fs';

/** Counts of a JUnit file of ctest. */
export function countJunit(text) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const [, attributes] of text.matchAll(/<testcase\s([^>]*)>/g)) {
    const status = /\bstatus="([^"]*)"/.exec(attributes)?.[1];
    if (status === 'run') count.passed += 1;
    else if (status === 'disabled' || status === 'notrun') count.skipped += 1;
    else count.failed += 1;
  }
  return count;
}

/** Counts of a Vitest JSON report. A file that fails to load is one failure. */
export function countVitest(text) {
  const report = JSON.parse(text);
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report.testResults) {
    if (file.assertionResults.length === 0 && file.status === 'failed') count.failed += 1;
    for (const { status } of file.assertionResults) {
      if (status === 'passed') count.passed += 1;
      else if (status === 'failed') count.failed += 1;
      else count.skipped += 1;
    }
  }
  return count;
}

/**
 * The count of one stage. A runner that failed without a failed test (it crashed, or wrote no
 * report), and a stage in which no test passed or failed, are each one failure: silence is not
 * success.
 */
export function countStage(reportFile, parse, exitCode) {
  const count = existsSync(reportFile)
    ? parse(readFileSync(reportFile, 'utf8'))
    : { passed: 0, failed: 0, skipped: 0 };
  if (count.failed === 0 && (exitCode !== 0 || count.passed === 0)) count.failed = 1;
  return count;
}
