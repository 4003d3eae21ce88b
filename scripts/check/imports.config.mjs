// The import rules of docs/architecture.md, for dependency-cruiser. Cycles of folders: folders.config.mjs.
// usage: tools/node_modules/.bin/depcruise --config scripts/check/imports.config.mjs --output-type err-long apps libs
import { ASSEMBLERS, options } from './cruise-options.mjs';

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
  storage: [...below, 'bytes'],
  egress: [...below, 'bytes'],
  catalog: [...below, 'providers', 'database', 'secrets'],
  providers: [...below, 'bytes', 'egress'],
  'providers/sandbox': [...below, 'providers', 'bytes', 'egress', 'images'],
  routing: [...below, 'redis', 'queue', 'database', 'catalog', 'providers'],
  guardrail: [...below, 'limits', 'egress'],
  billing: [...below, 'limits', 'catalog', 'database'],
  accounts: [...below, 'database', 'secrets', 'limits'],
  notifications: [...below, 'queue', 'database', 'secrets', 'accounts'],
  tasks: [...below, 'redis', 'queue', 'database', 'storage', 'notifications', 'billing'],
  health: [...below, 'database', 'queue', 'storage'],
  uploads: [...below, 'database', 'storage', 'tasks', 'accounts'],
  erasure: [...below, 'database', 'storage', 'secrets', 'notifications', 'tasks', 'uploads', 'accounts'],
  batches: [...below, 'database', 'tasks', 'accounts'],
  answers: [...below, 'queue', 'storage', 'tasks', 'catalog', 'providers', 'routing'],
};
const rooms = Object.keys(mayImport);
const inRooms = (names) => `^libs/(${names.join('|')})/`;

/** Packages that only some files may import; a name that ends in / stands for all packages below it. */
const fences = [
  { packages: ['prom-client', '@opentelemetry/'], only: ['^libs/telemetry/'] },
  { packages: ['sharp'], only: ['^libs/(images|providers/sandbox)/'] },
  { packages: ['bullmq', '@nestjs/bullmq'], only: ['^libs/queue/', '^apps/.*\\.(processor|module)\\.ts$'] },
  {
    packages: ['undici', 'got', 'axios', 'node-fetch', 'openai', '(node:)?https'],
    only: ['^libs/(egress|storage|providers)/', '^apps/api/src/chat/'],
  },
  { packages: ['openid-client'], only: ['^libs/accounts/'] },
  { packages: ['nodemailer'], only: ['^libs/notifications/mail/'] },
  { packages: ['@aws-sdk/', '@smithy/'], only: ['^libs/storage/'] },
  { packages: ['pg'], only: ['^libs/(database|embedded)/', '^apps/standalone/', '-store\\.ts$'] },
  {
    packages: ['@prisma/', 'libs/database/generated/'],
    only: ['^libs/database/', '-store\\.ts$', '\\.repository\\.ts$', '\\.sql\\.ts$'],
  },
  { packages: ['@nestjs/'], only: ['^apps/', '^libs/(?!bytes/|images/|providers/|embedded/)', '\\.module\\.ts$'] },
];

export default {
  forbidden: [
    rule('cycle', 'Files that need each other are one file, or need a third.', {}, { circular: true }),
    rule(
      'app',
      'Nothing imports an app but the app itself.',
      { path: '^((?:apps|libs)/[^/]+)/' },
      { path: '^apps/', pathNot: '^$1/' },
    ),
    rule(
      'outside',
      'Only rooms of libs may be imported.',
      {},
      { dependencyTypes: ['local'], pathNot: '^(apps|libs)/' },
    ),
    rule(
      'relative',
      'An import that leaves its room is written #room/file.js.',
      { path: '^((?:apps|libs)/[^/]+)/' },
      { path: '^libs/', pathNot: '^$1/', dependencyTypesNot: ['aliased-subpath-import'] },
    ),
    rule(
      'unknown-room',
      'Each room has a line in scripts/check/imports.config.mjs.',
      {},
      {
        path: '^libs/',
        pathNot: inRooms(rooms),
      },
    ),
    rule('unknown-room', 'Each room has a line in scripts/check/imports.config.mjs.', {
      path: '^libs/',
      pathNot: inRooms(rooms),
    }),
    rule(
      'dashboard',
      'The dashboard may import contract only.',
      { path: '^apps/dashboard/' },
      {
        path: '^libs/',
        pathNot: inRooms(['contract']),
      },
    ),
    ...rooms.map((room) =>
      rule(
        `layer-of-${room}`,
        `${room} may import ${mayImport[room].join(', ') || 'nothing of ours'}.`,
        {
          path: inRooms([room]),
          pathNot: rooms.filter((other) => other.startsWith(`${room}/`)).map((one) => inRooms([one])),
        },
        { path: inRooms(rooms), pathNot: inRooms([room, ...mayImport[room]]) },
      ),
    ),
    ...fences.map(({ packages, only }) =>
      rule(
        `fence-of-${packages[0]}`,
        `Only files like ${only.join(' and ')} may.`,
        { path: '^(apps|libs)/', pathNot: only },
        { path: packages.map((name) => `(^|^node_modules/)${name}${name.endsWith('/') ? '' : '(/|$)'}`) },
      ),
    ),
    rule(
      'assembler',
      'What assembles the files of its folders stands above them: only its like and other rooms import it.',
      { path: '^((?:apps|libs)/[^/]+)/', pathNot: ASSEMBLERS },
      { path: ASSEMBLERS, pathNot: '^(?!$1/)' },
    ),
    // Rules look at paths, and would not see what can't be resolved.
    rule('unresolved', 'The file or package does not exist.', {}, { couldNotResolve: true, pathNot: '^@trustnxt/' }),
  ],
  options,
};

function rule(name, comment, from, to = {}) {
  return { name, comment, severity: 'error', from, to };
}
