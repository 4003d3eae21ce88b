import { Module } from '@nestjs/common';
import { BillingModule } from '#billing/billing.module.js';
import { DatabaseModule } from '#database/database.module.js';
import { ListeningRedisModule } from '#redis/redis.module.js';
import { StorageModule } from '#storage/storage.module.js';
import { GuardrailModule } from '#guardrail/guardrail.module.js';
import { TasksModule, TaskListenersModule } from '#tasks/tasks.module.js';
import { UploadRowsModule } from '#uploads/upload-rows.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { LabelsModule } from '../labels/labels.module.js';
import { AcceptImage } from './accept-image.js';
import { AnswerImage } from './answer-image.js';
import { AwaitImage } from './await-image.js';
import { CallerPresence } from './caller-presence.js';
import { DeliveryMarks } from './delivery-marks.js';
import { ImageModels } from './image-models.js';
import { ImagesController } from './images.controller.js';
import { OpenImages } from './open-images.js';
import { QuoteImage } from './quote-image.js';
import { ReferenceImages } from './reference-images.js';
import { ReadRequest } from './read-request.js';
import { SubmitChecked } from './submit-checked.js';
import { StreamImage } from './stream-image.js';
import { WaitForTask } from './wait-for-task.js';

/** `/v1/images`: creates tasks from requests, and responds with the image or the task. */
@Module({
  imports: [
    BillingModule,
    CommonModule,
    DatabaseModule,
    GuardrailModule,
    LabelsModule,
    LinksModule,
    ListeningRedisModule,
    TaskListenersModule,
    StorageModule,
    TasksModule,
    UploadRowsModule,
  ],
  controllers: [ImagesController],
  providers: [
    ReadRequest,
    ImageModels,
    ReferenceImages,
    AcceptImage,
    SubmitChecked,
    QuoteImage,
    AnswerImage,
    StreamImage,
    AwaitImage,
    OpenImages,
    WaitForTask,
    DeliveryMarks,
    CallerPresence,
  ],
  exports: [ReadRequest, AcceptImage, SubmitChecked, ImageModels, QuoteImage, DeliveryMarks, AwaitImage],
})
export class ImagesModule {}
