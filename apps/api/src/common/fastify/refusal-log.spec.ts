import { Logger } from '#telemetry/logger.js';
import { RefusalLog } from './refusal-log.js';

describe('the log of refusals', () => {
  it('M4: has one line of its own per network, status and minute, and one that counts the others', () => {
    const lines: { event: string; network: string; status: number; count: number }[] = [];
    const logger = new Logger('test', 'info', { write: (line) => lines.push(JSON.parse(line) as never) });
    const log = new RefusalLog(logger);
    const firsts = Array.from({ length: 5_000 }, () => log.isFirst({ network: '203.0.113.7' }, 401)).filter(Boolean);
    expect(firsts).toHaveLength(1);
    expect([
      log.isFirst({ network: '2001:db8:0:0::/64' }, 401),
      log.isFirst({ network: '2001:db8:0:0::/64' }, 401),
      log.isFirst({ network: '198.51.100.1' }, 401),
    ]).toEqual([...[true, false, true]]);
    expect([log.isFirst({ network: '203.0.113.7' }, 503), log.isFirst({ network: '203.0.113.7' }, 503)]).toEqual([
      true,
      false,
    ]);
    expect(lines).toEqual([]);
    log.write();
    expect(lines.map(({ event, network, status, count }) => [event, network, status, count])).toEqual([
      ['requests.refused', '203.0.113.7', 401, 4_999],
      ['requests.refused', '203.0.113.7', 503, 1],
      ['requests.refused', '2001:db8:0:0::/64', 401, 1],
    ]);
    expect(log.isFirst({ network: '203.0.113.7' }, 401)).toBe(true);
    log.write();
    expect(lines).toHaveLength(3);
  });

  it('counts what a key sent above its limits for the key, whatever its network', () => {
    const lines: object[] = [];
    const log = new RefusalLog(new Logger('test', 'info', { write: (line) => lines.push(JSON.parse(line) as object) }));
    const firsts = Array.from({ length: 300 }, (_, n) => log.isFirst({ keyId: `key_${n % 2}` }, 429)).filter(Boolean);
    expect(firsts).toHaveLength(2);
    log.write();
    expect(lines).toMatchObject(['key_0', 'key_1'].map((keyId) => ({ keyId, status: 429, count: 149 })));
    expect(lines[0]).not.toHaveProperty('network');
  });

  it('M4: tells no more networks apart than it has lines for', () => {
    const lines: string[] = [];
    const log = new RefusalLog(new Logger('test', 'info', { write: (line) => lines.push(line) }));
    let firsts = 0;
    for (let n = 0; n < 20_000; n++)
      if (log.isFirst({ network: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` }, 401)) firsts++;
    expect(firsts).toBe(1_001);
    log.write();
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '{}')).toMatchObject({ network: 'others', count: 18_999 });
  });
});
