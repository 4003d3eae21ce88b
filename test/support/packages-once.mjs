// jest's module registry without packages: those load once per jest worker, in the context that all of its files share
// (lasting-environment.mjs). Our own modules still load separately for every file.
import { requireTool } from '../../scripts/build/prepare.mjs';

const { default: Runtime } = requireTool('jest-runtime');
/**
 * The client that Prisma generates counts as a package. Modules that jest installs in a file keep that file's state.
 */
const PACKAGE = /\/node_modules\/(?!jest-circus\/|source-map-support\/)|\/libs\/database\/generated\//;

/** The registry of packages. It is never torn down, so that packages can still load parts of themselves later. */
let packages;
let loading = Promise.resolve();

export default class FileRuntime extends Runtime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    packages ??= new Runtime(config, environment, ...rest);
    const { esmLoader } = this;
    const loadEsm = esmLoader.loadEsmModule;
    const loadCjs = esmLoader.loadCjsAsEsm;
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

  /**
   * One after the other: if two modules import a third at the same time, jest's loader links it for only one of them.
   */
  #load(work) {
    const loaded = loading.then(() => this._environment.keepGlobals(work));
    loading = loaded.catch(() => undefined);
    return loaded;
  }
}

/** Fully linked before it is returned, because a file's registry can't link modules of another one. */
async function importPackage(path, suffix) {
  return await packages.esmLoader.linkAndEvaluateModule(await packages.esmLoader.loadEsmModule(path, suffix));
}
