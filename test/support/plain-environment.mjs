// jest's environment for Node, with globals as fast as they are outside. jest makes a context of a proxy object, which V8
// asks, through Node, each time code names a global: 185 ns for `Math`, and no code that names one is optimized well.
import vm from 'node:vm';
import { requireTool } from '../../scripts/prepare.mjs';

const { TestEnvironment } = requireTool('jest-environment-node');

/** A context of its own for each file, as ever; its global object is V8's own. */
export default class PlainEnvironment extends TestEnvironment {
  constructor(config, context) {
    const { createContext } = vm;
    // The class has no other way to be given a context; between these lines nothing else runs.
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }
}
