import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ROOT } from '../../build/prepare.mjs';

/** The folder with the packages of the schemas, and the virtual file to check there. */
const FOLDER = join(ROOT, 'tools');
const FILE = join(FOLDER, 'rendered.ts');
const OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: false,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts'],
  types: [],
  skipLibCheck: true,
  noEmit: true,
};

/** Packages of kinds outside of Kubernetes itself, by group. */
const PACKAGES = {
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
};

/** The module of kubernetes-models for a kind. */
function moduleOf({ apiVersion, kind }) {
  return `${PACKAGES[apiVersion.split('/')[0]] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
}

/**
 * Checks objects, `[{ label, document }]`, against the schemas of their kinds: one sentence per problem, with the label
 * of the first affected object. Schemas check required fields and formats; types also reject unknown names.
 */
export async function schemaProblems(objects) {
  const distinct = new Map();
  for (const { label, document } of objects) {
    const text = JSON.stringify(document);
    if (!distinct.has(text))
      distinct.set(text, { document, name: `${label}${document.kind} ${document.metadata?.name}` });
  }
  const problems = [];
  for (const { document, name } of distinct.values()) {
    try {
      const { [document.kind]: Model } = await import(pathOf(moduleOf(document)));
      new Model(document).validate();
    } catch (error) {
      problems.push(`${name}: ${error.message}`);
    }
  }
  return [...problems, ...typeProblems([...distinct.values()])];
}

function pathOf(module) {
  const { resolvedModule } = ts.resolveModuleName(module, FILE, OPTIONS, ts.sys);
  if (resolvedModule === undefined) throw new Error('there is no such kind');
  return pathToFileURL(resolvedModule.resolvedFileName.replace(/\.d\.ts$/, '.js')).href;
}

function typeProblems(objects) {
  const lines = objects.map(({ document }, index) => {
    const type = `import('${moduleOf(document)}').I${document.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(document)};`;
  });
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists } = host;
  host.getSourceFile = (file, ...rest) =>
    file === FILE ? ts.createSourceFile(file, lines.join('\n'), OPTIONS.target) : getSourceFile(file, ...rest);
  host.fileExists = (file) => file === FILE || fileExists(file);
  const program = ts.createProgram([FILE], OPTIONS, host);
  const source = program.getSourceFile(FILE);
  return program.getSemanticDiagnostics(source).map(({ start, messageText }) => {
    const { name } = objects[source.getLineAndCharacterOfPosition(start).line];
    const sentence = ts.flattenDiagnosticMessageText(messageText, ' ').replace(/\s+/g, ' ');
    return `${name}: ${sentence}`;
  });
}
