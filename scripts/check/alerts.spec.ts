import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

describe('scripts/check/alerts.mjs', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'darkroom-alerts-'));
    for (const path of ['deploy/alerts', 'deploy/grafana', 'docs/operations.md', 'docs/runbook.md'])
      cpSync(path, join(root, path), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function check(): string {
    return spawnSync(process.execPath, ['scripts/check/alerts.mjs', root], { encoding: 'utf8' }).stderr;
  }

  function change(file: string, from: string, to: string): void {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text).toContain(from);
    writeFileSync(join(root, file), text.replaceAll(from, to));
  }

  it('finds what names no metric, no label, and no heading', () => {
    expect(check()).toBe('');
    change('docs/operations.md', '| `queue_jobs` | state |', '| `queue_gone` | phase |');
    change('docs/runbook.md', '## DarkroomDown', '## DarkroomGone');
    change('deploy/grafana/service.json', 'darkroom_tasks_refused_total', 'darkroom_tasks_accepted_total');
    const problems = check();
    for (const part of [
      'on-call.json: Jobs by state: there is no metric darkroom_queue_jobs',
      'service.json: Rejected requests: nothing has a label code',
      'DarkroomDown has no heading',
      'there is no alert DarkroomGone',
    ])
      expect(problems).toContain(part);
  });

  it('On call: finds alerts that no test shows firing, or quiet while what they watch is measured', () => {
    const tests = 'deploy/alerts/darkroom.test.yml';
    change(tests, 'alertname: DarkroomDown, exp_alerts: []', 'alertname: DarkroomQueueFull, exp_alerts: []');
    change(tests, 'alertname: DarkroomQueueOld\n', 'alertname: DarkroomQueueFull\n');
    change(tests, 'series: nodejs_eventloop_lag_p99_seconds', 'series: nodejs_eventloop_lag_p50_seconds');
    const problems = check()
      .split('\n')
      .filter((line) => line.includes('no case'));
    expect(problems).toEqual([
      `${tests}: no case in which DarkroomDown is quiet`,
      `${tests}: no case in which DarkroomQueueOld fires`,
      `${tests}: no case in which DarkroomEventLoopBlocked fires`,
      `${tests}: no case in which DarkroomEventLoopBlocked is quiet`,
    ]);
  });
});
