// jest's environment for Node, created once per jest worker: all files of a worker share one V8 context, so that
// packages load once (packages-once.mjs) and all tests share their classes and errors. Globals are as fast as outside
// of jest, whose context is a proxy object: V8 asks it, through Node, each time code uses a global, which takes 185 ns
// for `Math` and prevents optimization.
import vm from 'node:vm';
import { requireTool } from '../../scripts/build/prepare.mjs';

const { TestEnvironment } = requireTool('jest-environment-node');
const { installCommonGlobals } = requireTool('jest-util');

let lasting;
/** By what time limits of tests and hooks are multiplied: scripts/run/machine-speed.mjs. */
const SLOWNESS = Math.max(1, Number(process.env.TEST_SLOWNESS ?? 1));

export default class LastingEnvironment extends TestEnvironment {
  /** The global object at the start of each file: as created by jest, with the additions of loaded packages. */
  #globals;

  constructor(config, context) {
    if (lasting !== undefined) {
      // A new copy for each file, like in jest: changes of `process.env` don't outlast a test file.
      lasting.global.process = installCommonGlobals({ Symbol, Date }, {}).process;
      return lasting;
    }
    const { createContext } = vm;
    // The class offers no other way to set the context; nothing else runs between these lines.
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
    this.#globals = new Map(this.#own());
    lasting = this;
  }

  /** Loads a package and keeps the globals that it adds. */
  keepGlobals(load) {
    const before = new Set(Reflect.ownKeys(this.global));
    const keep = () => {
      for (const [key, descriptor] of this.#own()) if (!before.has(key)) this.#globals.set(key, descriptor);
    };
    const loaded = load();
    if (loaded instanceof Promise) return loaded.finally(keep);
    keep();
    return loaded;
  }

  #lengthened = new WeakSet();

  /** jest's time limits catch what hangs, so they are longer on a slower machine. */
  handleTestEvent({ name, test, hook }, state) {
    if (name === 'run_start') state.testTimeout *= SLOWNESS;
    const limited = name === 'test_start' ? test : name === 'hook_start' ? hook : undefined;
    // A hook runs once for each of its tests.
    if (limited?.timeout === undefined || this.#lengthened.has(limited)) return;
    this.#lengthened.add(limited);
    limited.timeout *= SLOWNESS;
  }

  /** Undoes what a file changed on the global object. */
  async teardown() {
    this.fakeTimers.dispose();
    this.fakeTimersModern.dispose();
    for (const [key, { value }] of this.#own()) {
      const first = this.#globals.get(key);
      if (first === undefined) Reflect.deleteProperty(this.global, key);
      else if (first.configurable && 'value' in first && !Object.is(value, first.value))
        Object.defineProperty(this.global, key, first);
    }
    for (const [key, first] of this.#globals) {
      if (!Object.hasOwn(this.global, key)) Object.defineProperty(this.global, key, first);
    }
  }

  #own() {
    return Reflect.ownKeys(this.global).map((key) => [key, Object.getOwnPropertyDescriptor(this.global, key)]);
  }
}
