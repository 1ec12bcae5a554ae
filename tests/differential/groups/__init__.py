"""One file per group of commands. Each has

    LIMITS    {name of a directive: values to choose from}: set to other values from stream to stream
    NEWER_LIMITS  the same, for directives that redis 7.0 does not have; may be left out
    COMMANDS  [(weight, function)]: function(pick) returns a Command, or a list of them; see stream.py
"""
