import { writeFileSync } from 'node:fs';

/** Writes how many tests passed and failed to the file scripts/test.mjs names; a file that can't run is one failure. */
export default class CountReporter {
  onRunComplete(_contexts, results) {
    const counts = {
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
    };
    if (process.env.DARKROOM_TEST_COUNTS) writeFileSync(process.env.DARKROOM_TEST_COUNTS, JSON.stringify(counts));
  }
}
