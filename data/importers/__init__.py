"""Problems and answers of others, brought into the rows that suites and SFT read."""
