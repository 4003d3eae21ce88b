import { open, rm } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { median } from './figures.mjs';

/** The machine on which the figures were measured. */
export async function machine(stage) {
  const { rows } = await stage.pool.query('SHOW server_version');
  return {
    date: new Date().toISOString(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    postgres: rows[0].server_version,
    flushMs: await flushTime(stage.folder),
    /** Load average of the last minute; much above zero means that other programs were running. */
    loadBefore: loadavg()[0],
  };
}

/** How long the disk takes to flush one page, in ms: every commit waits for that. */
async function flushTime(folder) {
  const path = join(folder, 'flush');
  const file = await open(path, 'w');
  const times = [];
  for (let round = 0; round < 100; round++) {
    await file.appendFile(Buffer.alloc(8_192));
    const since = performance.now();
    await file.datasync();
    times.push(performance.now() - since);
  }
  await file.close();
  await rm(path);
  return median(times);
}
