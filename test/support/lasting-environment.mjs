// jest's environment for Node, made once for each of jest's workers: all files of a worker share one V8 context, so that
// packages can be loaded once (packages-once.mjs) and their classes and errors are those of every test.
// Its globals are as fast as they are outside. jest makes a context of a proxy object, which V8 asks, through Node, each
// time code names a global: 185 ns for `Math`, and no code that names one is optimized well.
import vm from 'node:vm';
import { requireTool } from '../../scripts/prepare.mjs';

const { TestEnvironment } = requireTool('jest-environment-node');
const { installCommonGlobals } = requireTool('jest-util');

let lasting;

export default class LastingEnvironment extends TestEnvironment {
  /** The global object as each file finds it: as jest made it, with what packages added while they were loaded. */
  #globals;

  constructor(config, context) {
    if (lasting !== undefined) {
      // A copy for each file, as jest makes one: what a test sets in `process.env` is gone with it.
      lasting.global.process = installCommonGlobals({ Symbol, Date }, {}).process;
      return lasting;
    }
    const { createContext } = vm;
    // The class has no other way to be given a context; between these lines nothing else runs.
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
    this.#globals = new Map(this.#own());
    lasting = this;
  }

  /** Loads a package; the globals that it adds last as long as it does. */
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

  /** Nothing that one file did to the global object is left for the next. */
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
