import sys

from flaneur.cli.main import main

sys.exit(main())
