import { writeFileSync } from 'node:fs';

/**
 * Writes the numbers of passed and failed tests to the file given by scripts/run/test.mjs; a file that can't run counts as
 * one failure.
 */
export default class CountReporter {
  onRunComplete(_contexts, results) {
    const counts = {
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
    };
    if (process.env.DARKROOM_TEST_COUNTS) writeFileSync(process.env.DARKROOM_TEST_COUNTS, JSON.stringify(counts));
  }
}
