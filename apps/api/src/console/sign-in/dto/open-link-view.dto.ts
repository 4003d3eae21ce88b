import { ApiProperty } from '@nestjs/swagger';

/** What a one-time link is for, shown before it is used. */
export class OpenLinkView {
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Email address of the recipient; null if not bound to one.',
  })
  email!: string | null;

  @ApiProperty({ description: 'Name of the account.' })
  account!: string;
}
