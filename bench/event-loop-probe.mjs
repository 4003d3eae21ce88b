// Loaded into a process under measure: at SIGUSR2 it writes how long its event loop was held up since the last time.
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
let times = 0;

process.on('SIGUSR2', () => {
  // The histogram holds whole intervals; what exceeds the resolution is delay.
  const delay = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  const seen = {
    times: ++times,
    p50: delay(delays.percentile(50)),
    p99: delay(delays.percentile(99)),
    max: delay(delays.max),
  };
  writeFileSync(process.env.EVENT_LOOP_FILE, JSON.stringify(seen));
  delays.reset();
});
