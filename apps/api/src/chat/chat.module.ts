import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/billing.module.js';
import { GuardrailModule } from '#guardrail/guardrail.module.js';
import { OpenAiChat } from '#providers/chat/openai-chat.js';
import { ProviderProxyConfig } from '#providers/http/proxy.config.js';
import { SandboxChat } from '#providers/sandbox-chat/sandbox-chat.js';
import { obeysDirectives, SandboxConfig } from '#providers/sandbox/sandbox.config.js';
import { RoutingModule } from '#routing/routing.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { ImagesModule } from '../images/images.module.js';
import { LabelsModule } from '../labels/labels.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { AdmitChat } from './admit-chat.js';
import { AnswerInChat } from './answer-in-chat.js';
import { CallUpstreams } from './call-upstreams.js';
import { CheckChat } from './check-chat.js';
import { ChatBudget } from './chat-budget.js';
import { ChatLimiter } from './chat-limiter.js';
import { ChatPlan } from './chat-plan.js';
import { ChatProtocols } from './chat-protocols.js';
import { ChatUsageLog } from './chat-usage-log.js';
import { ChatController } from './chat.controller.js';
import { GenerateInChat } from './generate-in-chat.js';
import { OpenChats } from './open-chats.js';
import { PassChat } from './pass-chat.js';
import { ResponseLog } from './response-log.js';
import { ResponsesController } from './responses.controller.js';
import { WatchChat } from './watch-chat.js';

/** A provider that is up accepts a connection long before this, and a chat that is not connected can go to the next one. */
const CONNECT_MS = 5_000;

const openai = {
  provide: OpenAiChat,
  inject: [ProviderProxyConfig],
  useFactory: (proxy: ProviderProxyConfig) => new OpenAiChat(CONNECT_MS, proxy),
};
const sandbox = {
  provide: SandboxChat,
  inject: [SandboxConfig],
  useFactory: (config: SandboxConfig) => new SandboxChat(obeysDirectives(config)),
};

/**
 * `/v1/chat/completions` and `/v1/responses`: passes chats on to their provider, and handles chat completions with an
 * image model as image requests.
 */
@Module({
  imports: [
    BillingModule,
    CommonModule,
    GuardrailModule,
    ImagesModule,
    LabelsModule,
    LimitsModule,
    LinksModule,
    RoutingModule,
  ],
  controllers: [ChatController, ResponsesController],
  providers: [
    AdmitChat,
    CheckChat,
    PassChat,
    WatchChat,
    CallUpstreams,
    ChatPlan,
    ChatLimiter,
    ChatProtocols,
    openai,
    sandbox,
    ChatBudget,
    ChatUsageLog,
    ResponseLog,
    GenerateInChat,
    OpenChats,
    AnswerInChat,
  ],
})
export class ChatModule {}
