import { fork } from 'node:child_process';
import { join } from 'node:path';

/** The parent's side of the load generator. */
export class Load {
  #child = fork(join(import.meta.dirname, 'load-generator.mjs'));
  #waiting = new Map();
  #orders = 0;

  constructor() {
    this.#child.on('message', ({ id, result, error }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(`load generator: ${error}`));
    });
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the load generator ended with ${code}`));
    });
  }

  /** Makes the calls (see load-generator.mjs), and counts unexpected responses. */
  count(order) {
    const id = ++this.#orders;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, ...order }, (error) => error && reject(error));
    });
  }

  /** The same; throws on an unexpected response, because figures with errors mean nothing. */
  async run(order) {
    const result = await this.count(order);
    const wrong = Object.entries(result.wrong).map(([outcome, count]) => `${count} x ${outcome}`);
    if (wrong.length > 0) throw new Error(`calls to port ${order.port} went wrong: ${wrong.join(', ')}`);
    return result;
  }

  close() {
    this.#child.kill('SIGTERM');
  }
}
