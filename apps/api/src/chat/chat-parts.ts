import type { Provider } from '@nestjs/common';
import { Database } from '#database/database.js';
import type { ChatProvider } from '#providers/chat/chat-provider.js';
import { OpenAiChat } from '#providers/chat/openai-chat.js';
import { SandboxChat } from '#providers/sandbox-chat/sandbox-chat.js';
import { obeysDirectives, SandboxConfig } from '#providers/sandbox/sandbox.config.js';
import { DrainedProviders } from '#routing/drained-providers.js';
import { ProviderGate } from '#routing/provider-gate.js';
import { Logger } from '#telemetry/logger.js';
import { ApiConfig } from '../http/api.config.js';
import { Draining } from '../http/draining.js';
import { AcceptImage } from '../images/accept-image.js';
import { DeliveryMarks } from '../images/delivery-marks.js';
import { HeldCalls } from '../images/held-calls.js';
import { RequestLimits } from '../limits/limit-requests.js';
import { TaskLinks } from '#answers/task-links.js';
import { CallUpstreams } from './call-upstreams.js';
import { ChatGate } from './chat-gate.js';
import { ChatPlan } from './chat-plan.js';
import { ChatBudget } from './chat-budget.js';
import { ChatConfig } from './chat.config.js';
import { ChatUsageLog } from './chat-usage-log.js';
import { DrawInChat } from './draw-in-chat.js';
import { PassChat } from './pass-chat.js';

export const OPENAI_CHAT = Symbol('OPENAI_CHAT');

/** What the chat's controller is made of. */
export const CHAT_PARTS: Provider[] = [
  {
    provide: OPENAI_CHAT,
    inject: [ChatConfig],
    useFactory: (config: ChatConfig) => new OpenAiChat(config.connectMs),
  },
  {
    provide: CallUpstreams,
    inject: [OPENAI_CHAT, SandboxConfig, ProviderGate, DrainedProviders, Logger],
    useFactory: (
      openai: ChatProvider,
      sandbox: SandboxConfig,
      gate: ProviderGate,
      drained: DrainedProviders,
      logger: Logger,
    ) => {
      const protocols = { openai, sandbox: new SandboxChat(obeysDirectives(sandbox)) };
      return new CallUpstreams(new ChatPlan(), protocols, new ChatGate(gate, drained), logger);
    },
  },
  {
    provide: ChatUsageLog,
    inject: [Database, Logger],
    useFactory: (database: Database, logger: Logger) => new ChatUsageLog(database, logger),
  },
  {
    provide: ChatBudget,
    inject: [Database, ChatConfig, Logger],
    useFactory: (database: Database, config: ChatConfig, logger: Logger) => new ChatBudget(database, config, logger),
  },
  {
    provide: PassChat,
    inject: [CallUpstreams, ChatUsageLog, Draining, ChatConfig, Logger],
    useFactory: (...parts: ConstructorParameters<typeof PassChat>) => new PassChat(...parts),
  },
  {
    provide: DrawInChat,
    inject: [AcceptImage, HeldCalls, TaskLinks, DeliveryMarks, RequestLimits, ApiConfig],
    useFactory: (
      accept: AcceptImage,
      calls: HeldCalls,
      links: TaskLinks,
      marks: DeliveryMarks,
      limits: RequestLimits,
      config: ApiConfig,
    ) => new DrawInChat({ accept, calls, links, marks }, limits, config),
  },
];
