// jest's module registry, without packages: those are loaded once for each of jest's workers, in the context that all of
// its files share (lasting-environment.mjs). What is ours is loaded anew for every file, as ever.
import { requireTool } from '../../scripts/prepare.mjs';

const { default: Runtime } = requireTool('jest-runtime');
/** The client that Prisma generates counts as its package. What jest installs in a file keeps the state of that file. */
const PACKAGE = /\/node_modules\/(?!jest-circus\/|source-map-support\/)|\/libs\/database\/generated\//;

/** The registry of packages. It is never torn down, so that they may load a part of theirs later. */
let packages;
let loading = Promise.resolve();

export default class FileRuntime extends Runtime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    packages ??= new Runtime(config, environment, ...rest);
    const { esmLoader } = this;
    const [loadEsm, loadCjs] = [esmLoader.loadEsmModule, esmLoader.loadCjsAsEsm];
    esmLoader.loadEsmModule = (path, suffix) =>
      PACKAGE.test(path) ? this.#load(() => importPackage(path, suffix)) : loadEsm.call(esmLoader, path, suffix);
    esmLoader.loadCjsAsEsm = (from, path, ...others) =>
      PACKAGE.test(path)
        ? this.#load(async () => packages.esmLoader.loadCjsAsEsm(from, path, ...others))
        : loadCjs.call(esmLoader, from, path, ...others);
  }

  requireModule(from, name, options, isActual) {
    const isCore = name !== undefined && this._resolution.isCoreModule(name);
    return isCore || !PACKAGE.test(this._resolution.resolveCjs(from, name))
      ? super.requireModule(from, name, options, isActual)
      : this._environment.keepGlobals(() => packages.requireModule(from, name, options, isActual));
  }

  /** One after the other: jest's loader links a module that two others import at the same time for one of them only. */
  #load(work) {
    const loaded = loading.then(() => this._environment.keepGlobals(work));
    loading = loaded.catch(() => undefined);
    return loaded;
  }
}

/** Complete when it is handed out, since a file's registry can't link what is not its own. */
async function importPackage(path, suffix) {
  return await packages.esmLoader.linkAndEvaluateModule(await packages.esmLoader.loadEsmModule(path, suffix));
}
