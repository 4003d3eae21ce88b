import { Logger } from '#telemetry/logger.js';
import { RefusalLog } from './refusal-log.js';

describe('the log of refusals', () => {
  it('M4: has one line of its own per network and minute, and one that counts the others', () => {
    const lines: { event: string; network: string; count: number }[] = [];
    const logger = new Logger('test', 'info', { write: (line) => lines.push(JSON.parse(line) as never) });
    const log = new RefusalLog(logger);
    const firsts = Array.from({ length: 5_000 }, () => log.isFirst('203.0.113.7')).filter(Boolean);
    expect(firsts).toHaveLength(1);
    expect([log.isFirst('2001:db8::1'), log.isFirst('2001:db8::2'), log.isFirst('198.51.100.1')]).toEqual([
      ...[true, false, true],
    ]);
    expect(lines).toEqual([]);
    log.write();
    expect(lines.map(({ event, network, count }) => [event, network, count])).toEqual([
      ['requests.refused', '203.0.113.7', 4_999],
      ['requests.refused', '2001:db8:0:0::/64', 1],
    ]);
    expect(log.isFirst('203.0.113.7')).toBe(true);
    log.write();
    expect(lines).toHaveLength(2);
  });

  it('M4: tells no more networks apart than it has lines for', () => {
    const lines: string[] = [];
    const log = new RefusalLog(new Logger('test', 'info', { write: (line) => lines.push(line) }));
    let firsts = 0;
    for (let n = 0; n < 20_000; n++) if (log.isFirst(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`)) firsts++;
    expect(firsts).toBe(1_001);
    log.write();
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '{}')).toMatchObject({ network: 'others', count: 18_999 });
  });
});
