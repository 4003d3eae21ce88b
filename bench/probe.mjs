// Loaded into a measured process: on SIGUSR2 it writes the event loop delay since the last time and, with PROBE_LIVE
// set, the memory after a full garbage collection, in bytes.
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const RESOLUTION_MS = 5;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
let times = 0;

process.on('SIGUSR2', () => {
  // The histogram has whole intervals; anything above the resolution is delay.
  const delay = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const seen = {
    times: ++times,
    p50: delay(delays.percentile(50)),
    p99: delay(delays.percentile(99)),
    max: delay(delays.max),
    ...(process.env.PROBE_LIVE === undefined ? {} : { liveBytes: liveBytes() }),
  };
  writeFileSync(process.env.PROBE_FILE, JSON.stringify(seen));
  delays.reset();
});

function liveBytes() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
