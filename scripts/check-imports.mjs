// Enforces the import rules of docs/architecture.md: prints every violation as file:line with its rule.
// usage: node scripts/check-imports.mjs [root]
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';

const below = ['telemetry', 'config', 'contract'];
/** The rooms that each room may import besides itself. Apps may import every room, the dashboard only `contract`. */
const mayImport = {
  contract: [],
  config: [],
  bytes: [],
  images: ['bytes'],
  embedded: [],
  telemetry: ['config', 'contract'],
  secrets: ['config'],
  database: below,
  redis: below,
  queue: [...below, 'redis'],
  limits: [...below, 'redis'],
  storage: below,
  egress: [...below, 'bytes'],
  catalog: [...below, 'providers', 'database', 'secrets'],
  providers: [...below, 'bytes', 'egress'],
  'providers/sandbox': [...below, 'bytes', 'egress', 'images'],
  routing: [...below, 'redis', 'queue', 'database', 'catalog', 'providers'],
  billing: [...below, 'catalog', 'database'],
  accounts: [...below, 'database', 'secrets'],
  notifications: [...below, 'queue', 'database', 'secrets', 'accounts'],
  tasks: [...below, 'redis', 'queue', 'database', 'storage', 'notifications', 'billing'],
  health: [...below, 'database', 'queue', 'storage'],
  uploads: [...below, 'database', 'storage', 'tasks', 'accounts'],
  answers: [...below, 'queue', 'storage', 'tasks'],
};

/** Packages that only some files may import; a name that ends in / stands for all packages below it. */
const fences = [
  { packages: ['prom-client', '@opentelemetry/'], allowed: /^libs\/telemetry\// },
  { packages: ['sharp'], allowed: /^libs\/(images|providers\/sandbox)\// },
  { packages: ['bullmq', '@nestjs/bullmq'], allowed: /^libs\/queue\/|^apps\/.*\.(processor|module)\.ts$/ },
  {
    packages: ['undici', 'got', 'axios', 'node-fetch', 'openai', 'node:https', 'https'],
    allowed: /^libs\/(egress|storage|providers)\/|^apps\/api\/src\/chat\//,
  },
  { packages: ['openid-client'], allowed: /^libs\/accounts\// },
  { packages: ['nodemailer'], allowed: /^libs\/notifications\/mail\// },
  { packages: ['@aws-sdk/', '@smithy/'], allowed: /^libs\/storage\// },
  { packages: ['pg'], allowed: /^libs\/(database|embedded)\/|^apps\/standalone\/|-store\.ts$/ },
  {
    packages: ['@prisma/', '#database/generated/'],
    allowed: /^libs\/database\/|-store\.ts$|\.repository\.ts$|\.sql\.ts$/,
  },
  { packages: ['@nestjs/'], allowed: /^(apps|test)\/|^libs\/(?!bytes|images|providers|embedded)|\.module\.ts$/ },
];

/**
 * Files that assemble parts from the folders below and next to them. Each counts as its own folder, so that its parts
 * may import from the file's folder.
 */
const ABOVE_THEIR_FOLDER = [
  /\.module\.ts$/,
  /^apps\/[^/]+\/src\/(main|create-api|openapi)\.tsx?$/,
  // The routes of all pages.
  /^apps\/dashboard\/src\/app\/router\.tsx$/,
  // The list of adapters, all of which implement types from the same folder.
  /^libs\/providers\/descriptors\.ts$/,
];

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const imports = new Map(['apps', 'libs'].flatMap(listSources).map((file) => [file, readImports(file)]));
const violations = [...imports].flatMap(([file, found]) =>
  found.flatMap(({ line, specifier, target }) =>
    brokenRules(file, specifier, target).map((rule) => `${file}:${line} imports ${specifier}: ${rule}`),
  ),
);
const targets = new Map([...imports].map(([file, found]) => [file, found.map(({ target }) => target)]));
const cycles = findCycles(targets);
// A cycle of files is also a cycle of folders: reported only once.
if (cycles.length === 0) cycles.push(...findCycles(targetsOfFolders()));
violations.push(...cycles.map((cycle) => `${cycle[0]}:1 is part of a cycle: ${cycle.join(' -> ')}`));
for (const violation of violations) console.error(violation);
console.log(`${imports.size} files, ${violations.length} imports against the rules`);
process.exitCode = violations.length === 0 && imports.size > 0 ? 0 : 1;

function listSources(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .map((entry) => posix.join(folder, entry.parentPath.slice(join(root, folder).length), entry.name))
    .filter((file) => /\.tsx?$/.test(file) && !/\.spec\.tsx?$|\/(generated|node_modules|dist)\//.test(file));
}

/** Static, type-only, re-exporting and dynamic imports; `target` is the imported file, if it is ours. */
function readImports(file) {
  const text = readFileSync(join(root, file), 'utf8');
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName: specifier, pos }) => ({
    line: text.slice(0, pos).split('\n').length,
    specifier,
    target: specifier.startsWith('#')
      ? `libs/${specifier.slice(1).replace(/\.js$/, '.ts')}`
      : specifier.startsWith('.')
        ? posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts')
        : undefined,
  }));
}

function roomOf(file) {
  return file.split('/').slice(0, 2).join('/');
}

function brokenRules(file, specifier, target) {
  const broken = fences
    .filter(({ packages, allowed }) => packages.some((name) => isOf(specifier, name)) && !allowed.test(file))
    .map(({ allowed }) => `only files like ${allowed.source} may`);
  if (target === undefined || roomOf(target) === roomOf(file)) return broken;
  const [layer, room] = file.split('/');
  const [targetLayer, targetRoom] = target.split('/');
  if (targetLayer === 'apps') broken.push(`${layer === 'apps' ? 'an app' : 'a room of libs'} never imports an app`);
  else if (targetLayer !== 'libs') broken.push('only rooms of libs may be imported');
  else if (specifier.startsWith('.')) broken.push('an import that leaves its room is written #room/file.js');
  else if (!(targetRoom in mayImport)) broken.push(`the room ${targetRoom} is in no layer: scripts/check-imports.mjs`);
  else if (room === 'dashboard' && targetRoom !== 'contract') broken.push('the dashboard may import contract only');
  else if (layer === 'libs') {
    const allowed = mayImport[file.startsWith('libs/providers/sandbox/') ? 'providers/sandbox' : room];
    if (allowed === undefined) broken.push(`the room ${room} is in no layer: scripts/check-imports.mjs`);
    else if (!allowed.includes(targetRoom))
      broken.push(`${room} may import ${allowed.join(', ') || 'nothing of ours'}`);
  }
  return broken;
}

function isOf(specifier, name) {
  return specifier === name || specifier.startsWith(name.endsWith('/') ? name : `${name}/`);
}

function folderOf(file) {
  return ABOVE_THEIR_FOLDER.some((name) => name.test(file)) ? file : posix.dirname(file);
}

/** The imports between folders of the same room. */
function targetsOfFolders() {
  const folders = new Map();
  for (const [file, found] of targets) {
    const folder = folderOf(file);
    const others = found.filter((target) => imports.has(target) && roomOf(target) === roomOf(file)).map(folderOf);
    folders.set(folder, [...(folders.get(folder) ?? []), ...others.filter((other) => other !== folder)]);
  }
  return folders;
}

/** Each cycle once, from the file or folder where it was found. */
function findCycles(targets) {
  const cycles = [];
  const done = new Set();
  const visit = (file, path) => {
    if (path.includes(file)) return cycles.push([...path.slice(path.indexOf(file)), file]);
    if (done.has(file)) return;
    for (const target of new Set(targets.get(file))) if (targets.has(target)) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  return cycles;
}
